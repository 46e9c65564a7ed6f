// A delay queue on the keys of Redisson 3.21.1 and later, as a program of the driver protocol:
// dq-bench verify --driver 'exec:node docs/guides/port.js' --level state
const crypto = require('node:crypto'), net = require('node:net'), readline = require('node:readline')

const OFFER = `local member = struct.pack('Bc0Lc0', #ARGV[2], ARGV[2], #ARGV[3], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], member) redis.call('RPUSH', KEYS[2], member)
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == member then redis.call('PUBLISH', KEYS[3], ARGV[1]) end`
const TRANSFER = `local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 100)
for _, member in ipairs(due) do
  local _, value = struct.unpack('Bc0Lc0', member)
  redis.call('RPUSH', KEYS[3], value) redis.call('LREM', KEYS[2], 1, member)
end
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]`
const UNITS = { ns: 1n, us: 1000n, ms: 1000000n, s: 10n ** 9n, m: 60n * 10n ** 9n, h: 3600n * 10n ** 9n, d: 86400n * 10n ** 9n }

const millis = (request, name) => BigInt(request[name]) * UNITS[request.unit ?? 'ms'] / 1000000n
const typed = value => value === null ? null : { t: 'string', v: value.toString() }
const failure = (kind, message) => Object.assign(new Error(message), { kind })

class Redis { // one connection; its replies come in the order of the commands
  constructor(url) {
    const u = new URL(url)
    this.waiting = []
    this.bytes = Buffer.alloc(0)
    this.socket = net.connect(u.port || 6379, u.hostname).on('error', () => {})
    this.socket.on('data', data => this.receive(data)).on('close', () => this.end())
    if (u.password) this.run('AUTH', ...[u.username, u.password].filter(Boolean).map(decodeURIComponent)).catch(() => {})
    if (u.pathname.length > 1) this.run('SELECT', u.pathname.slice(1)).catch(() => {})
  }
  run(...words) {
    const parts = words.map(w => Buffer.isBuffer(w) ? w : Buffer.from(String(w)))
    const lines = parts.flatMap(p => [`$${p.length}\r\n`, p, '\r\n'].map(l => Buffer.from(l)))
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(failure('closed', 'the connection is closed'))
      this.waiting.push({ resolve, reject })
      this.socket.write(Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...lines]))
    })
  }
  receive(data) {
    this.bytes = Buffer.concat([this.bytes, data])
    for (let found; (found = this.parse(0)); ) {
      this.bytes = this.bytes.subarray(found.end)
      if (this.subscribed) this.subscribed(found.value)
      else if (found.value instanceof Error) this.waiting.shift().reject(found.value)
      else this.waiting.shift().resolve(found.value)
    }
  }
  parse(at) { // the reply that begins there, and where it ends; undefined if it is not whole
    const end = this.bytes.indexOf('\r\n', at)
    if (end < 0) return
    const kind = String.fromCharCode(this.bytes[at]), rest = this.bytes.toString('utf8', at + 1, end), size = Number(rest)
    if (kind === '-') return { value: failure('RedisError', rest), end: end + 2 }
    if (kind === ':') return { value: size, end: end + 2 }
    if (kind === '+' || size < 0) return { value: kind === '+' ? rest : null, end: end + 2 }
    if (kind === '$') return this.bytes.length < end + size + 4 ? undefined : { value: this.bytes.subarray(end + 2, end + 2 + size), end: end + size + 4 }
    const all = { value: [], end: end + 2 }
    while (all.value.length < size) {
      const one = this.parse(all.end)
      if (!one) return
      all.value.push(one.value)
      all.end = one.end
    }
    return all
  }
  end() {
    this.closed = true
    for (const { reject } of this.waiting.splice(0)) reject(failure('closed', 'the server closed the connection'))
    if (this.subscribed) this.subscribed()
  }
}

class Client {
  constructor(url) { Object.assign(this, { url, all: [], tasks: new Map(), commands: null, closed: false }) }
  connect() {
    if (this.closed) throw failure('closed', 'the client is closed')
    this.all.push(new Redis(this.url))
    return this.all.at(-1)
  }
  run(...words) {
    if (!this.commands || this.commands.closed) this.commands = this.connect()
    return this.commands.run(...words)
  }
  close() {
    this.closed = true
    for (const task of this.tasks.values()) clearTimeout(task.timer)
    for (const connection of this.all) connection.socket.destroy()
  }
}

class Task { // subscribes to a queue's channel, and transfers what comes due: docs/spec/task.md
  constructor(queue) {
    this.queue = queue
    this.subscribe()
  }
  subscribe() {
    if (this.queue.client.closed) return
    const connection = this.queue.client.connect()
    connection.subscribed = news => {
      if (!news) return setTimeout(() => this.subscribe(), 100)
      if (!Array.isArray(news)) return // the answers to AUTH and SELECT
      this.heard = String(news[0]) === 'message' ? Number(news[2]) : 0 // subscribed: transfer at once
      this.wake(this.heard)
    }
    connection.run('SUBSCRIBE', this.queue.channel).catch(() => {})
  }
  wake(due) { // of the head, Unix ms; a timer takes 24 days at most
    clearTimeout(this.timer)
    const wait = Math.min(due - Date.now(), 2 ** 31 - 1)
    this.timer = setTimeout(() => due > Date.now() ? this.wake(due) : this.transfer(), Math.max(0, wait))
  }
  async transfer() {
    const { client, timeouts, pending, name } = this.queue
    if (client.closed) return
    this.heard = Infinity // until the reply is there
    try {
      const head = await client.run('EVAL', TRANSFER, 3, timeouts, pending, name, Date.now())
      if (head !== null) this.wake(Math.min(Number(head), this.heard))
    } catch {
      this.wake(Date.now() + 5000)
    }
  }
}

class Queue {
  constructor(client, name, delayed) {
    const tag = name.includes('{') ? name : `{${name}}`
    Object.assign(this, { client, name, timeouts: 'redisson_delay_queue_timeout:' + tag, pending: 'redisson_delay_queue:' + tag })
    this.channel = 'redisson_delay_queue_channel:' + tag
    if (delayed && !client.tasks.has(name)) client.tasks.set(name, new Task(this))
  }
  async offer(r) {
    if (r.delay === undefined) throw failure('unsupported', 'offer without a delay')
    if (millis(r, 'delay') < 0n) throw failure('RangeError', 'the delay is negative')
    const due = BigInt.asIntN(64, BigInt(Date.now()) + millis(r, 'delay')) // overflows as a long of Java does
    await this.client.run('EVAL', OFFER, 3, this.timeouts, this.pending, this.channel, due, crypto.randomBytes(8), r.value.v)
    return null
  }
  async take(r) { // in turns of a second, to notice that it was cancelled
    const own = this.client.connect()
    try {
      while (!r.cancelled) {
        const popped = await own.run('BLPOP', this.name, 1)
        if (popped) return typed(popped[1])
      }
      throw failure('cancelled', 'the take was cancelled')
    } finally { own.socket.destroy() }
  }
}

const clients = new Map(), handles = new Map(), running = new Map()
const ops = {
  'dq.offer': (q, r) => q.offer(r), 'dq.size': q => q.client.run('LLEN', q.pending),
  'q.take': (q, r) => q.take(r), 'q.size': q => q.client.run('LLEN', q.name),
}

function open(r) {
  if (r.codec !== 'string' || r.options?.nameMapperPrefix) throw failure('unsupported', 'such a codec, or a name mapper')
  const client = r.client ?? `client-${r.id}`, handle = `handle-${r.id}`
  if (!clients.has(client)) clients.set(client, new Client(r.redis))
  handles.set(handle, new Queue(clients.get(client), r.queue, r.delayed ?? true))
  return { handle, client }
}
function close(r) {
  for (const [name, client] of clients) {
    if ((r.client ?? name) !== name || r.handle && handles.get(r.handle).client !== client) continue
    client.close()
    clients.delete(name)
  }
  return null
}
async function run(r) {
  if (r.op === 'hello') return { name: 'port.js', version: '1', protocol: 2, codecs: ['string'], capabilities: ['open', 'close', ...Object.keys(ops)] }
  if (r.op === 'open') return open(r)
  if (r.op === 'close') return close(r)
  if (r.op === 'cancel') return running.has(r.target) && (running.get(r.target).cancelled = true)
  if (!ops[r.op]) throw failure('unsupported', r.op)
  return ops[r.op](handles.get(r.handle), r)
}

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const r = JSON.parse(line)
  running.set(r.id, r)
  const answer = await run(r).then(
    result => ({ ok: true, result }),
    e => ({ ok: false, error: { class: r.cancelled ? 'cancelled' : e.kind ?? e.name, message: e.message } }))
  running.delete(r.id)
  process.stdout.write(JSON.stringify({ id: r.id, ...answer }) + '\n')
}).on('close', () => process.exit(0))
