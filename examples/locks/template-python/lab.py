"""The protocol of docs/protocol.md, and Redis over a socket. Standard library only. A lock is a class with acquire, release and renew."""
import contextlib, json, os, socket, sys, threading, time, uuid


class Redis:
    """One connection. A lost connection is opened again for the next command; no command is sent twice."""

    def __init__(self, addr):
        self.addr, self.sock, self.mutex = addr, None, threading.Lock()

    def __call__(self, *words):
        with self.mutex:
            try:
                if self.sock is None:
                    host, port = self.addr.rsplit(":", 1)
                    self.sock = socket.create_connection((host, int(port)), timeout=1)
                    self.reader = self.sock.makefile("rb")
                parts = [str(w).encode() for w in words]
                self.sock.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
                return self._reply()
            except OSError:
                self.sock = None
                raise

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
            return [self._reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


def send(mutex, **line):
    with mutex:
        print(json.dumps({k: v for k, v in line.items() if v is not None}), flush=True)


def serve(lock_class, **claims):
    """Answers the lab until it sends stop."""
    mutex, held, renewed, lock, lease = threading.Lock(), {}, set(), None, 0
    send(mutex, type="hello", protocol=1, pid=os.getpid(), store="redis", **claims)

    def change(r):
        grant = held.get(r["id"])
        if r["type"] == "extend":
            done, ok = "granted", grant and lock.renew(grant, lease)
        else:
            renewed.discard(r["id"])
            done, ok = "released", grant and lock.release(grant)
            held.pop(r["id"], None)  # after an error it is there, so that the release may be repeated
        send(mutex, type=done if ok else "not_held", id=r["id"])

    def acquire(r):
        end, owner = time.monotonic() + r.get("wait_ms", 0) / 1000, uuid.uuid4().hex
        while (token := lock.acquire(r["key"], owner, lease)) is None:
            if time.monotonic() > end:
                return send(mutex, type="refused", id=r["id"], reason="another client holds it")
            time.sleep(0.02)
        grant = held[r["id"]] = (r["key"], owner)
        renewed.add(r["id"])
        send(mutex, type="granted", id=r["id"], token=str(token) if claims.get("tokens") else None)
        while claims.get("renews") and r["id"] in renewed:
            time.sleep(lease / 3000)
            with contextlib.suppress(OSError):  # the next renewal may reach the server
                if r["id"] in renewed and not lock.renew(grant, lease):
                    renewed.discard(r["id"])
                    claims.get("tells_loss") and send(mutex, type="lost", id=r["id"], reason="a renewal found another owner, or none")

    def answer(r):
        try:
            (acquire if r["type"] == "acquire" else change)(r)
        except Exception as e:
            send(mutex, type="error", id=r["id"], text=f"{type(e).__name__}: {e}")

    for line in sys.stdin:
        r = json.loads(line)
        if r["type"] == "stop":
            os._exit(0)
        if r["type"] == "start":
            lock, lease = lock_class(Redis(r["servers"][0])), r["lease_ms"]
            send(mutex, type="ready")
        else:
            threading.Thread(target=answer, args=(r,), daemon=True).start()
