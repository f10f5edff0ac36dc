// cache.js: 200 users read at the same moment. How many loads reach the database, and is an answer old?
//
//   k6 run loadtest/k6/cache.js
//   k6 run -e CACHE=c0 loadtest/k6/cache.js
//
// hot: all users read one item that is not in the cache. absent: each reads an id that does not exist. many: each reads an item of its own,
// after the TTL. update: all read an item that was in the cache and was updated.
import http from 'k6/http';
import { fail, sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { MOST_USERS, text, whole } from './env.js';
import { metricsOf } from './summary.js';

const loads = new Counter('lab_loads'); // that reached the database
const stale = new Counter('lab_stale'); // answers that are older than the update
const answered = new Counter('lab_answered'); // usable answers
const time = new Trend('lab_time', true);

// What each cache is for, how long it may be old after an update (in s), and how many loads it lets through. Without a bound nothing is
// judged.
const caches = {
  c0: { kind: 'hot', settles: 0 },
  c1: { kind: 'absent', settles: 0, bound: (users) => Math.ceil(users / 20) },
  c2: { kind: 'many', settles: 1.5, bound: (users) => Math.ceil(users / 2) },
  c3: { kind: 'hot', settles: 0, bound: () => 1 },
  c4: { kind: 'update', settles: 2.5 },
  c5: { kind: 'update', settles: 0 },
  c6: { kind: 'update', settles: 3 },
  c7: { kind: 'update' }, // old until the next refresh
};

const s = settingsOf();

function settingsOf() {
  const wrong = (sentence) => { throw new Error(sentence); };
  const got = {
    base: text('BASE_URL', 'http://127.0.0.1:8000').replace(/\/+$/, ''),
    name: text('CACHE', 'c3'), users: whole('USERS', 200, MOST_USERS), ttl: Number(text('TTL', '10')),
  };
  got.cache = caches[got.name];
  if (!got.cache) wrong(`CACHE is "${got.name}"; allowed are ${Object.keys(caches).join(', ')}`);
  got.kind = text('KIND', got.cache.kind);
  if (!['hot', 'absent', 'many', 'update'].includes(got.kind)) wrong(`KIND is "${got.kind}"; allowed are hot, absent, many, update`);
  if (!(got.ttl > 0)) wrong(`TTL is "${__ENV.TTL}"; it must be the instances' --cache-ttl in seconds`);
  return got;
}

// The bound holds for what the cache is for. With another KIND the loads are shown, and not judged.
const bound = s.kind === s.cache.kind && s.cache.bound ? s.cache.bound(s.users) : undefined;

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus: s.users, iterations: 1, maxDuration: '2m' } },
  thresholds: Object.assign(
    { lab_answered: [`count==${s.users}`] },
    bound === undefined ? {} : { lab_loads: [`count<=${bound}`] },
    s.kind === 'update' && s.cache.settles !== undefined ? { lab_stale: ['count==0'] } : {},
  ),
  summaryTrendStats: ['med', 'p(99)', 'max'],
  setupTimeout: '5m',
};

const path = (id) => `${s.base}/${s.name}/items/${id}`;

function put(id) {
  const response = http.put(path(id), JSON.stringify({ text: `item ${id}` }), { timeout: '60s' });
  if (response.status !== 200) fail(`PUT ${path(id)} answers ${response.status}: ${String(response.body).slice(0, 200)}`);
  return response.json('version');
}

export function setup() {
  const first = 1 + Math.floor(Math.random() * 1e9); // ids of this run
  let version = 0;
  if (s.kind === 'many') {
    for (let i = 0; i < s.users; i++) {
      put(first + i);
      http.get(path(first + i));
    }
    sleep(Math.max(0, s.ttl - 1)); // the users start more than a second later
  } else if (s.kind !== 'absent') {
    put(first);
    if (s.kind === 'update') {
      sleep(s.cache.settles || 0);
      for (let i = 0; i < 4; i++) http.get(path(first)); // every instance has it
      version = put(first);
      sleep(s.cache.settles || 0);
    }
  }
  return { first, version, start: Date.now() + 1000 + 2 * s.users };
}

export default function ({ first, version, start }) {
  sleep(Math.max(0, start - Date.now()) / 1000);
  const id = s.kind === 'many' ? first + __VU - 1 : s.kind === 'absent' ? first + 1e9 + __VU : first;
  const status = s.kind === 'absent' ? 404 : 200;
  const response = http.get(path(id), { timeout: '60s', responseCallback: http.expectedStatuses(status) });
  if (response.status !== status) return;
  answered.add(1);
  time.add(response.timings.duration);
  loads.add(Number(response.headers['Locklab-Loads']));
  stale.add(status === 200 && response.json('version') < version ? 1 : 0);
}

export function handleSummary(data) {
  const metrics = metricsOf(data);
  const of = (name, value) => (metrics[name] ? metrics[name].values[value] : 0);
  const ms = (value) => (of('lab_time', value) === undefined ? '-' : `${Math.round(of('lab_time', value))} ms`);
  return {
    stdout: [
      `${s.name}, ${s.kind}: ${of('lab_answered', 'count')} of ${s.users} requests answered`,
      `  loads that reached the database  ${of('lab_loads', 'count')}${bound === undefined ? '' : ` (at most ${bound})`}`,
      `  answers older than the update    ${of('lab_stale', 'count')}`,
      `  time                             median ${ms('med')}, p99 ${ms('p(99)')}, longest ${ms('max')}`, '',
    ].join('\n'),
  };
}
