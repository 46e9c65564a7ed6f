"""A delay queue on the keys of Redisson 3.21.1 and later, as a program of the driver protocol:
dq-bench verify --driver 'exec:python3 docs/guides/port.py' --level state; its class Load is what 'dq-bench run' needs"""
import base64, contextlib, json, os, queue, socket, struct, sys, threading, time, urllib.parse, zlib

OFFER = """local member = struct.pack('Bc0Lc0', #ARGV[2], ARGV[2], #ARGV[3], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], member) redis.call('RPUSH', KEYS[2], member)
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == member then redis.call('PUBLISH', KEYS[3], ARGV[1]) end"""
TRANSFER = """local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 100)
for _, member in ipairs(due) do
  local _, value = struct.unpack('Bc0Lc0', member)
  redis.call('RPUSH', KEYS[3], value) redis.call('LREM', KEYS[2], 1, member)
end
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]"""
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
def now(): return int(time.time() * 1000)
def millis(request, name): return int(request[name]) * UNITS[request.get("unit", "ms")] // 10**6
def typed(value): return None if value is None else {"t": "string", "v": value.decode()}

class Redis:  # one connection
    def __init__(self, url):
        u = urllib.parse.urlparse(url)
        self.socket = socket.create_connection((u.hostname, u.port or 6379))
        self.replies = self.socket.makefile("rb")
        if u.password: self("AUTH", *filter(None, [u.username, u.password]))
        if u.path.strip("/"): self("SELECT", u.path.strip("/"))
    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()
    def reply(self):
        line = self.replies.readline()
        if not line: raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-": raise RuntimeError(rest.decode())
        if kind == b":": return int(rest)
        if kind == b"$": return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        if kind == b"*": return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest

class Client:
    def __init__(self, url): self.url, self.all, self.idle, self.tasks, self.closed = url, [], [], {}, False
    def connect(self):
        self.all.append(connection := Redis(self.url))
        if self.closed: self.close(); raise ConnectionError("the client is closed")
        return connection
    def run(self, *words):
        connection = self.idle.pop() if self.idle else self.connect()
        reply = connection(*words)
        self.idle.append(connection)
        return reply
    def close(self):
        self.closed = True
        for connection in self.all:
            with contextlib.suppress(OSError): connection.socket.shutdown(socket.SHUT_RDWR)  # which may be gone

class Task:  # subscribes to a queue's channel, and transfers what comes due: docs/spec/task.md
    def __init__(self, client, keys, channel):
        self.client, self.keys, self.channel, self.announced = client, keys, channel, queue.Queue()
        for work in self.listen, self.transfer: threading.Thread(target=work, daemon=True).start()
    def listen(self):
        while not self.client.closed:
            try:
                connection = self.client.connect()
                news = connection("SUBSCRIBE", self.channel)
                while True:
                    self.announced.put(int(news[2]) if news[0] == b"message" else 0)  # subscribed: transfer at once
                    news = connection.reply()
            except (OSError, ValueError): time.sleep(0.1)
    def transfer(self):
        due = None  # of the head, Unix ms
        while not self.client.closed:
            try: due = self.announced.get(timeout=None if due is None else min(1e6, max(0, (due - now()) / 1000)))
            except queue.Empty: pass
            if due > now(): continue
            try: due = self.client.run("EVAL", TRANSFER, 3, *self.keys, now())
            except Exception: due = now() + 5000
            due = due and float(due)

class Queue:
    def __init__(self, client, name, delayed):
        tag = name if "{" in name else "{" + name + "}"
        self.client, self.channel = client, "redisson_delay_queue_channel:" + tag
        self.timeouts, self.pending, self.name = self.keys = "redisson_delay_queue_timeout:" + tag, "redisson_delay_queue:" + tag, name
        if delayed and name not in client.tasks: client.tasks[name] = Task(client, self.keys, self.channel)
    def offer(self, r):
        if "delay" not in r: raise NotImplementedError("offer without a delay")
        if millis(r, "delay") < 0: raise ValueError("the delay is negative")
        due = (now() + millis(r, "delay") + 2**63) % 2**64 - 2**63  # overflows as a long of Java does
        self.client.run("EVAL", OFFER, 3, self.timeouts, self.pending, self.channel, due, os.urandom(8), r["value"]["v"])
    def take(self, r, until=float("inf")):  # in turns of a second, to notice that it was cancelled
        while not r.get("cancelled") and now() < until:
            popped = self.client.run("BLPOP", self.name, min(1, (until - now() + 1) / 1000))
            if popped: return typed(popped[1])
        if now() >= until: return None
        raise InterruptedError("cancelled")
    def poll(self, r):
        if "limit" in r: raise NotImplementedError("poll with a limit")
        if "timeout" not in r: return typed(self.client.run("LPOP", self.name))
        return self.take(r, now() + (millis(r, "timeout") or float("inf")))
    def size(self, r): return self.client.run("LLEN", self.name)
    def waiting(self, r): return self.client.run("LLEN", self.pending)

def spawn(work, *args): threading.Thread(target=work, args=args, daemon=True).start()

class Load:  # offers and takes as it is told, and reports a sample of 25 bytes for each thing that happened
    def __init__(self, r):
        self.id, self.run, self.size, self.client = r["id"], r["run_id"], r["payload_size"], Client(r["redis"])
        self.queues = [Queue(self.client, name, True) for name in r["queues"]]
        self.items, self.halts, self.taking, self.ended, self.lock, self.out, self.busy = queue.SimpleQueue(), 0, {}, False, threading.Lock(), b"", 0
        for _ in range(r["senders"]): spawn(self.send)
        spawn(self.report)
    def sample(self, kind, index=0, a=0, b=0, waited=0):
        with self.lock: self.out += struct.pack("<cIIqq", kind, waited, index, a, b)
    def flush(self):
        with self.lock: out, self.out = self.out, b""
        write({"id": self.id, "event": "samples", "samples": base64.b64encode(out).decode()})
    def report(self):  # also when there is nothing: it is the sign of life
        while not self.ended: self.flush(); time.sleep(0.02)
    def send(self):
        while not self.ended:
            index, cancel, at, delay, due = self.items.get()
            waited, halts = max(0, time.time_ns() - at) // 1000, self.halts
            while (left := at - time.time_ns()) > 0 and halts == self.halts: time.sleep(min(left / 1e9, 0.05))
            if halts != self.halts: self.sample(b"s", index); continue
            sent = time.time_ns()
            delay = delay if due == 0 else max(0, due - sent // 10**6)
            head = "dqb3|%s|%08x|%016x|" % (self.run, index, sent + delay * 10**6)
            rest = "|".ljust(self.size - len(head) - 8, ".")
            value, kind = head + "%08x" % zlib.crc32((head + rest).encode()) + rest, b"a"
            self.busy += 1
            try: self.queues[(index & 0x7fffffff) % len(self.queues)].offer({"delay": delay, "value": {"v": value}})
            except Exception: kind = b"f"
            self.busy -= 1
            self.sample(kind, index, sent, time.time_ns(), min(waited, 2**32 - 1))
    def take(self, consumer):
        while not self.ended:
            try: value = self.queues[consumer % len(self.queues)].take(self.taking)["v"].encode()
            except InterruptedError: return
            except Exception: self.sample(b"e"); time.sleep(0.1); continue
            came, ours = time.time_ns(), value[:14] == b"dqb3|%s|" % self.run.encode()
            if value[:5] != b"dqb3|": self.sample(b"u")
            elif int(value[40:48], 16) != zlib.crc32(value[:40] + value[48:]): self.sample(b"c")
            else: self.sample(b"t", int(value[14:22], 16), int(value[23:39], 16), came) if ours else self.sample(b"u")
    def halt(self):
        self.halts += 1
        while not self.items.empty(): self.sample(b"s", self.items.get()[0])
    def end(self):
        self.halt()
        self.taking["cancelled"] = True
        while self.busy: time.sleep(0.01)
        time.sleep(1.1)  # a take looks once a second whether it was cancelled
        self.ended = True
        self.flush()

def load(r):
    if r["op"] == "load.open": handles["load"] = Load(r); return {"handle": "load"}
    agent = handles[r["handle"]]
    if r["op"] == "load.offer":
        for item in struct.iter_unpack("<IIqqq", base64.b64decode(r["items"])): agent.items.put(item)
    if r["op"] == "load.take":
        for consumer in r["consumers"]: spawn(agent.take, consumer)
    if r["op"] == "load.halt": agent.halt()
    if r["op"] == "load.end": agent.end()
    if r["op"] == "load.close": agent.client.close()

clients, handles, running, printing = {}, {}, {}, threading.Lock()
OPS = {"dq.offer": Queue.offer, "dq.size": Queue.waiting, "q.take": Queue.take, "q.poll": Queue.poll, "q.size": Queue.size}

def open_queue(r):
    if r.get("codec") != "string" or "nameMapperPrefix" in r.get("options", {}): raise NotImplementedError("such a codec, or a name mapper")
    name, handle = r.get("client", "client-%s" % r["id"]), "handle-%s" % r["id"]
    if name not in clients: clients[name] = Client(r["redis"])
    handles[handle] = Queue(clients[name], r["queue"], r.get("delayed", True))
    return {"handle": handle, "client": name}
def close(r):
    for name in [n for n, c in clients.items() if r.get("client", n) == n and ("handle" not in r or handles[r["handle"]].client is c)]:
        clients.pop(name).close()
def run(r):
    if r["op"] == "hello": return {"name": "port.py", "version": "1", "protocol": 3, "codecs": ["string"], "capabilities": ["open", "close", "load", "load(queues)", *OPS]}
    if r["op"] == "cancel": return r["target"] in running and not running[r["target"]].update(cancelled=True)
    if r["op"] in OPS: return OPS[r["op"]](handles[r["handle"]], r)
    if r["op"].startswith("load."): return load(r)
    if r["op"] == "open": return open_queue(r)
    if r["op"] == "close": return close(r)
    raise NotImplementedError(r["op"])
def write(line):
    with printing: print(json.dumps(line), flush=True)
def answer(r):
    try: line = {"ok": True, "result": run(r)}
    except Exception as e:
        word = {NotImplementedError: "unsupported", InterruptedError: "cancelled"}
        line = {"ok": False, "error": {"class": word.get(type(e), type(e).__name__), "message": str(e)}}
    running.pop(r["id"], None)
    write({"id": r["id"], **line})

for line in sys.stdin:
    r = json.loads(line)
    running[r["id"]] = r
    threading.Thread(target=answer, args=[r], daemon=True).start()
