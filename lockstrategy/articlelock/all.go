package articlelock

// All are the locks of this package.
var All = []Lock{
	Compare, CompareInClient, CompensatedByDEL, CompensatedByScript, Counted, EXPIREByAll, Extend, ExtendBySET, GetSet, GetSetApart,
	IgnoredReply, PlainDEL, Redisson, RedissonOwnerFirst, SETNX, SETNXScript, SETNXThenEXPIRE, SETWithoutNX, ScriptInFinally, SharedValue,
	Uncounted, UnlockInFinally,
}
