// lab.js: what the bursts and the sustained load share: settings, the start at one moment, counting, the text at the end.
//
// k6 keeps every VU in a runtime of its own and hands nothing from a VU to the summary but metrics. Of
// a tagged metric the summary has only the parts that a threshold names. So a view that is confirmed is
// counted in `lab_written{instance,value}`, and thresholds that are always true name every pair. They are made before the
// first request, when no instance is known: so they name slots, `#0` and so on. setup asks which instances there are, and
// the summary gets their names. `app lab check` reads the same metrics.
import http from 'k6/http';
import exec from 'k6/execution';
import { fail, sleep } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { MOST_USERS, text, whole } from './env.js';
import { began, metricsOf } from './summary.js';
import { versions } from './versions.js';

const ran = new Gauge('lab_run'); // its tags say what
const asked = new Gauge('lab_users'); // is there when the reset succeeded
const several = new Gauge('lab_instances'); // how many instances setup found
const read = new Counter('lab_read'); // is there when the end was read; a gauge with a threshold says 0 when it was not
const answered = new Counter('lab_answered'); // usable answers, by instance
const share = new Counter('lab_share'); // by how many answers an instance is above an equal part of all
const strangers = new Counter('lab_strangers'); // answers of instances that setup did not find
const failed = new Counter('lab_failed'); // requests without one: they may have counted
const refused = new Counter('lab_refused'); // those of them that were answered, by status
const time = new Trend('lab_time', true); // a request's duration, without the connecting
const done = new Trend('lab_done', true); // from the start moment to the answer, also of a refused request
const late = new Trend('lab_late', true); // from the start moment to the request

const always = ['count>=0']; // for the summary's sake

// slots stand for instances, in the order in which setup found them.
export const slots = Array.from({ length: 12 }, (_, i) => `#${i}`);

// statuses are those of refused requests that the text at the end names.
const statuses = ['401', '404', '409', '423', '429', '500', '502', '503', '504', 'other'];

export const settings = settingsOf(__ENV);

function settingsOf(env) {
  const s = {
    base: text('BASE_URL', 'http://127.0.0.1:8000').replace(/\/+$/, ''),
    version: text('VERSION', 'v3'),
    users: whole('USERS', 666, MOST_USERS),
    token: text('ADMIN_TOKEN', ''),
    summary: text('SUMMARY', ''),
    run: text('RUN_ID', ''), // of the file; app burst --tool k6 gives one, and looks for it
    instances: text('INSTANCES', '') === '' ? [] : env.INSTANCES.split(',').map((name) => name.trim()), // none: setup finds them
  };
  const wrong = (sentence) => { throw new Error(sentence); };
  if (!/^https?:\/\/[^/\s]+/.test(s.base)) wrong(`BASE_URL is "${s.base}"; it must look like http://127.0.0.1:8000`);
  s.of = versions.find((v) => v.name === s.version);
  if (!s.of) wrong(`VERSION is "${s.version}"; allowed are ${versions.map((v) => v.name).join(', ')}`);
  // A name becomes part of a threshold's name, which has a syntax of its own.
  if (!s.instances.every((name) => /^[\w.-]+$/.test(name))) wrong(`INSTANCES is "${env.INSTANCES}"; it must be names with commas between them, as 8080,8090`);
  if (new Set(s.instances).size < s.instances.length) wrong(`INSTANCES is "${env.INSTANCES}"; a name is there twice`);
  if (s.instances.length > slots.length) wrong(`INSTANCES is "${env.INSTANCES}"; at most ${slots.length} are counted`);
  return s;
}

// usersUnlessSet changes the number of users to a script's own, unless USERS says how many, and returns the settings.
export function usersUnlessSet(users) {
  if (!__ENV.USERS) settings.users = users;
  return settings;
}

// safe tells the versions that must not lose anything from those that show the loss.
export const safe = !settings.of.loses;

// options makes one VU for each user, with one request, and thresholds: of the run's validity, and
// what the caller adds.
export function options(kind, more) {
  const { users } = settings;
  for (const name of ['RATE', 'DURATION']) {
    if (text(name, '')) throw new Error(`${name} is "${__ENV[name]}", and ${kind} sends a burst; only pview.js with RATE has a rate and a duration`);
  }
  const thresholds = { lab_answered: [`count==${users}`], lab_strangers: ['count==0'] };
  // Requests that did not reach the instances in equal parts prove nothing about several of them. A part that is not whole is
  // rounded up or down: by less than one.
  for (const slot of slots) thresholds[`lab_share{instance:${slot}}`] = ['count>-0.999', 'count<0.999'];
  // Not K6_VUS nor --vus: they discard the scenario.
  const burst = { executor: 'per-vu-iterations', vus: users, iterations: 1, maxDuration: '3m', gracefulStop: '5s' };
  return optionsOf(kind, { burst }, Object.assign(thresholds, more(always)));
}

// optionsOf adds thresholds that name what every run counts.
export function optionsOf(kind, scenarios, thresholds) {
  const named = { [`lab_run{kind:${kind},version:${settings.version}}`]: ['value>=0'] };
  for (const slot of slots) named[`lab_answered{instance:${slot}}`] = always;
  for (const status of statuses) named[`lab_refused{status:${status}}`] = always;
  return {
    scenarios,
    thresholds: Object.assign(named, thresholds),
    summaryTrendStats: ['min', 'med', 'p(99)', 'max'],
    setupTimeout: '90s',
    teardownTimeout: '90s',
  };
}

// call is a request of setup or teardown. Without a usable answer the run ends.
export function call(method, path, body, what, ...statuses) {
  const headers = { 'Content-Type': 'application/json' };
  if (settings.token) headers.Authorization = `Bearer ${settings.token}`;
  // What only reads may ask again, through a failover too; beside a dead instance the next answers.
  for (const until = Date.now() + (method === 'GET' ? 30000 : 0); ; sleep(0.5)) {
    const response = http.request(method, settings.base + path, body, { headers, timeout: '60s' });
    const answer = json(response);
    if (statuses.includes(response.status) && answer) return answer;
    if (Date.now() >= until) fail(`${what}: ${method} ${settings.base}${path} answers ${problem(response)}`);
  }
}

// found asks the balancer which instances it has, three times as often as there can be any. INSTANCES names them instead.
function found() {
  if (settings.instances.length > 0) return settings.instances;
  const names = new Set();
  for (let asked = 0; asked < 3 * slots.length; asked++) {
    const { instance } = call('GET', '/healthz', null, 'the instances are not known', 200);
    if (!/^[\w.-]+$/.test(instance)) fail(`an instance is called "${instance}", which cannot be counted by: start it with another --instance`);
    names.add(instance);
  }
  if (names.size > slots.length) fail(`${names.size} instances answer, and at most ${slots.length} are counted`);
  return [...names].sort();
}

// shoot waits for the start moment and sends one POST. It counts the answer, if there is a usable
// one, and returns it with the slot of its instance and the milliseconds since the start moment. That a stale holder's write was refused is
// none: it has a loser's status, and its driver did not lose to the order's winner.
export function shoot({ start, instances }, path, ...usable) {
  sleep(Math.max(0, start - Date.now()) / 1000);
  late.add(Date.now() - start);
  const response = http.post(settings.base + path, null, { timeout: '60s', responseCallback: http.expectedStatuses(...usable) });
  const after = Date.now() - start;
  if (response.status > 0) done.add(after);
  const answer = json(response);
  if (!usable.includes(response.status) || !answer || !answer.instance || answer.stale) {
    failed.add(1);
    if (response.status > 0) refused.add(1, { status: statuses.find((known) => known === String(response.status)) || 'other' });
    if (exec.vu.idInTest % 100 === 1) console.warn(`user ${exec.vu.idInTest}: ${problem(response)}`); // not 666 lines
    return null;
  }
  const at = instances.indexOf(answer.instance);
  const slot = at < 0 ? 'other' : slots[at];
  answered.add(1, { instance: slot });
  if (at < 0) strangers.add(1);
  instances.forEach((_, i) => share.add((i === at ? 1 : 0) - 1 / instances.length, { instance: slots[i] }));
  time.add(response.timings.duration);
  return Object.assign(answer, { slot, after });
}

function json(response) {
  try {
    return response.json();
  } catch (_) {
    return null; // a balancer's page, or nothing
  }
}

function problem(response) {
  if (response.status === 0) return `nothing: ${response.error}`;
  return json(response) ? `${response.status}: ${String(response.body).slice(0, 200)}` : response.status_text; // no balancer's page
}

// begun notes that the reset succeeded. It returns the instances, and when all users go: in a burst, once every VU is awake.
export function begun(kind, wait = 2000 + settings.users) {
  const instances = found();
  ran.add(1, { kind, version: settings.version });
  asked.add(settings.users);
  several.add(instances.length);
  return { instances, start: Date.now() + wait };
}

// ended notes what was read at the end.
export function ended(gauge, value) {
  gauge.add(value);
  read.add(1);
}

// named gives the instances their names in the metrics, and drops the slots without one. Where k6 does not hand over the data of setup,
// the slots are the names.
function named(metrics, setup) {
  const found = metrics.lab_instances ? metrics.lab_instances.values.value : 0;
  const names = setup ? setup.instances : slots.slice(0, found);
  for (const [metric, measured] of Object.entries(metrics)) {
    const slot = /\{instance:#(\d+)/.exec(metric);
    if (!slot) continue;
    delete metrics[metric];
    const name = names[Number(slot[1])];
    if (name) metrics[metric.replace(`#${slot[1]}`, name)] = measured;
  }
  return names;
}

// reader gives the numbers of the summary's metrics; what was not measured is undefined. Its instances are the names to count by, and its
// record is what a file keeps of the run.
export function reader(data) {
  const metrics = metricsOf(data);
  const instances = named(metrics, data.setup_data);
  const run = { id: settings.run || `${Date.now()}-${Math.random().toString(36).slice(2)}`, began: began(data).toISOString() };
  const get = (name, value) => (metrics[name] ? metrics[name].values[value] : undefined);
  return Object.assign(get, { instances, record: { run, setup_data: data.setup_data, metrics } });
}

// invalid says why the run shows nothing, or nothing.
export function invalid(get) {
  const { users } = settings;
  const { instances } = get;
  if (get('lab_users', 'value') === undefined) return 'the reset failed, and nothing was sent';
  const all = get('lab_answered', 'count') || 0;
  const { number, list } = refusals(get);
  const silent = users - all - number;
  if (all < users) {
    const unusable = [number > 0 && `${number} were refused (${list})`, silent > 0 && `${silent} have no answer`];
    return `of ${users} requests ${unusable.filter(Boolean).join(' and ')}`;
  }
  const each = instances.map((name) => get(`lab_answered{instance:${name}}`, 'count') || 0);
  const others = get('lab_strangers', 'count');
  if (others > 0) return `${others} answers are of instances other than ${instances.join(' and ')}`;
  if (Math.max(...each) - Math.min(...each) > 1) return `the instances did not get equal parts of the requests: ${each.join(' and ')}`;
  if (get('lab_read', 'count') === undefined) return 'what is left was not read at the end';
  return '';
}

// refusals are how many requests were answered without a usable answer, and their statuses.
export function refusals(get) {
  const counts = statuses.map((status) => [status, get(`lab_refused{status:${status}}`, 'count') || 0]).filter(([, n]) => n > 0);
  const number = counts.reduce((sum, [, n]) => sum + n, 0);
  return { number, list: counts.map((count) => count.join(': ')).join(', ') };
}

// report is the text of a burst: the caller's rows, and what every burst has.
export function report(title, rows, get, outcome) {
  const { number } = refusals(get);
  return layout(title, [
    ...rows,
    ...perInstance(get, 'answers'),
    ...unusable(get, settings.users - (get('lab_answered', 'count') || 0) - number),
    ['start', `all within ${ms(get, 'lab_late', 'max')}`],
    times(get),
  ], outcome);
}

// perInstance, unusable and times are rows of every text.
export function perInstance(get, what) {
  return get.instances.map((name) => [`instance ${name}`, `${get(`lab_answered{instance:${name}}`, 'count') || 0} ${what}`]);
}

export function unusable(get, silent) {
  const { number, list } = refusals(get);
  return [['error answers', number > 0 ? `${number} (${list})` : 0], ['without an answer', silent]];
}

export function times(get) {
  return ['answer after', `p50 ${ms(get, 'lab_time', 'med')}, p99 ${ms(get, 'lab_time', 'p(99)')}, max ${ms(get, 'lab_time', 'max')}`];
}

function ms(get, name, stat) {
  return get(name, stat) === undefined ? '-' : `${Math.round(get(name, stat))} ms`;
}

// layout puts the rows below each other.
export function layout(title, rows, outcome) {
  const { version, base } = settings;
  const all = [['version', `${version} (${settings.of.title})`], ['at', base], ...rows];
  const width = Math.max(...all.map(([name]) => name.length));
  const lines = all.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  return `\n${title}\n\n${lines.join('\n')}\n\n${outcome}\n`;
}

// output is what handleSummary returns: our text, and the record of the run where SUMMARY wants it.
export function output(text, get) {
  const files = { stdout: text };
  if (settings.summary) files[settings.summary] = JSON.stringify(get.record, null, 2);
  return files;
}
