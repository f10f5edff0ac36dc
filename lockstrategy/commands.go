package lockstrategy

import "time"

// Commands are what [Redis] says to a server for an owner that tries once, as arguments of one command each: for who
// wants to decide in which order several owners are heard. The owner waits in no queue and listens to nothing.
func Commands(key, owner string, lease time.Duration) (acquire, release []any) {
	const process, fences, since, queue, hears = "1", 1, 0, 0, 0
	keys := keysOf(key)
	eval := func(source string, args ...any) []any {
		command := []any{"EVAL", source, len(keys)}
		for _, k := range keys {
			command = append(command, k)
		}
		return append(command, args...)
	}
	acquire = eval(acquireSource, lease.Milliseconds(), owner, process, fences, since, queue)
	release = eval(freeSource+releaseSource, "publish", hears, calledFor.Milliseconds(), strangersFor.Milliseconds(), owner, "", queue)
	return acquire, release
}
