"""The protocol of docs/protocol.md, with the standard library only. serve is for any lock; attempts is for a class that tries once."""
import json, os, queue, socket, sys, threading, time, uuid

output, stdout = threading.Lock(), sys.stdout
sys.stdout = sys.stderr  # stdout carries the lines of the protocol only, whatever a lock prints


def send(**line):
    with output:
        print(json.dumps({k: v for k, v in line.items() if v is not None}), file=stdout, flush=True)


def text(e):
    return f"{type(e).__name__}: {e}"


def serve(open, name, store="redis", **claims):
    """Answers the lab until it sends stop. open(servers, lease_ms) returns acquire(key, wait_ms, lease_ms), which returns a grant, or None.

    A grant has release(), and extend() if that is claimed. A false value means that the lock is not held. It may have a token. serve gives
    it lost(reason), which tells the lab of a loss. Each grant has its own thread for all its calls, because libraries need that.
    """
    inboxes, acquire = {}, None  # inboxes: the requests of each grant, by id
    send(type="hello", protocol=1, name=name, pid=os.getpid(), store=store, **claims)

    def hold(r, inbox):
        id, granted, once = r["id"], threading.Event(), threading.Lock()

        def lost(reason):
            granted.wait()
            if once.acquire(blocking=False):
                send(type="lost", id=id, reason=reason)

        try:
            grant = acquire(r["key"], r.get("wait_ms", 0), r["lease_ms"])
        except Exception as e:
            del inboxes[id]
            return send(type="error", id=id, text=text(e))
        if grant is None:
            del inboxes[id]
            return send(type="refused", id=id, reason="another client holds it")
        grant.lost, token = lost, getattr(grant, "token", None)
        send(type="granted", id=id, token=None if token is None else str(token))
        granted.set()
        while id in inboxes:
            extends = inbox.get()["type"] == "extend"
            try:
                done = grant.extend() if extends else grant.release()
                if not extends:
                    del inboxes[id]  # after an error it is there, so that the release may be repeated
                send(type="not_held" if not done else "granted" if extends else "released", id=id)
            except Exception as e:
                send(type="error", id=id, text=text(e))

    for line in sys.stdin:
        r = json.loads(line)
        if r["type"] == "stop":
            break
        if r["type"] == "start":
            try:
                acquire = open(r["servers"], r["lease_ms"])
                send(type="ready")
            except Exception as e:
                send(type="error", text=text(e))
        elif r["type"] == "acquire":
            inbox = inboxes[r["id"]] = queue.Queue()
            threading.Thread(target=hold, args=(r, inbox), daemon=True).start()
        elif inbox := inboxes.get(r["id"]):
            inbox.put(r)
        else:
            send(type="not_held", id=r["id"])
    os._exit(0)  # it does not wait for the threads of a library


class Attempt:
    """A grant of a class that tries once."""

    def __init__(self, lock, key, owner, lease_ms):
        self.lock, self.key, self.owner, self.lease_ms, self.over = lock, key, owner, lease_ms, threading.Event()
        self.token, self.good = None, time.monotonic()  # the server set the expiry at that time, or later

    def acquire(self):
        """Tries once. A false value of the class is a refusal."""
        self.good = time.monotonic()
        self.token = self.lock.acquire(self.key, self.owner, self.lease_ms)
        return self.token

    def release(self):
        self.over.set()
        return self.lock.release(self.key, self.owner)

    def extend(self):
        return self.lock.renew(self.key, self.owner, self.lease_ms)

    def keep(self, tells):
        """Renews every third of the lease, until the release or a loss. An error is no loss before the lease is over."""
        while not self.over.wait(self.lease_ms / 3000):
            asked, reason = time.monotonic(), None
            try:
                if self.extend():
                    self.good = asked
                else:
                    reason = "a renewal found another owner, or none"
            except Exception as e:
                print("a renewal failed:", text(e), file=sys.stderr, flush=True)
                if time.monotonic() - self.good > self.lease_ms / 1000:
                    reason = "no renewal has succeeded for a whole lease: " + text(e)
            if reason and not self.over.is_set():
                return tells and self.lost(reason)


def attempts(lock_class, name, connect=None, **claims):
    """Serves a class with acquire, release and renew, as mylock.py has them. It polls every 20 ms, and renews when that is claimed.

    connect(address, seconds) is the server for the class, where the lab waits for an answer so long. Without it that is Redis."""

    def open(servers, lease_ms):
        lock = lock_class((connect or Redis)(servers[0], lease_ms / 4000))

        def acquire(key, wait_ms, lease_ms):
            end, grant = time.monotonic() + wait_ms / 1000, Attempt(lock, key, uuid.uuid4().hex, lease_ms)
            while not grant.acquire():
                if time.monotonic() >= end:
                    return None
                time.sleep(0.02)
            if not claims.get("tokens"):
                grant.token = None
            if claims.get("renews"):
                threading.Thread(target=grant.keep, args=(claims.get("tells_loss"),), daemon=True).start()
            return grant

        return acquire

    serve(open, name, **claims)


class Redis:
    """One connection. A reply must come within timeout seconds. A lost connection is opened again for the next command; no command is sent twice."""

    def __init__(self, addr, timeout):
        self.addr, self.timeout, self.sock, self.mutex = addr, timeout, None, threading.Lock()

    def __call__(self, *words):
        with self.mutex:
            try:
                if self.sock is None:
                    host, port = self.addr.rsplit(":", 1)
                    self.sock = socket.create_connection((host, int(port)), timeout=self.timeout)
                    self.reader = self.sock.makefile("rb")
                parts = [str(w).encode() for w in words]
                self.sock.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
                return self._reply()
            except OSError:
                self.sock = None
                raise

    def _item(self):
        """An item of an array may be an error. The items behind it must be read, too."""
        try:
            return self._reply()
        except ValueError as e:
            return e

    def _reply(self):
        line = self.reader.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise ValueError(rest)
        if kind == b"$":
            return None if rest == "-1" else self.reader.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self._item() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest
