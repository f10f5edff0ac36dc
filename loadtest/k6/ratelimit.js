// ratelimit.js: more calls to the supplier than it allows, at a constant rate. The supplier logs what reaches it. The lines to run are in
// loadtest/README.md.
//
// The variables and their defaults are below. OPERATION `bookings` has 5 calls in 5 s. RATE is in requests a second. ADMIN_TOKEN is for
// instances that have one.
import http from 'k6/http';
import { fail } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { text, whole } from './env.js';

const base = text('BASE_URL', 'http://127.0.0.1:8000').replace(/\/+$/, '');
const algorithm = text('ALGORITHM', 'r4');
const operation = text('OPERATION', 'bookings');
const rate = whole('RATE', 20, 5000);
const duration = text('DURATION', '12s');
const token = text('ADMIN_TOKEN', '');

if (!/^https?:\/\/[^/\s]+/.test(base)) throw new Error(`BASE_URL is "${base}"; it must look like http://127.0.0.1:8000`);
if (!/^r\d+$/.test(algorithm)) throw new Error(`ALGORITHM is "${algorithm}"; it must be one of r0 to r9`);

const allowed = new Counter('lab_allowed'); // calls that were made
const refused = new Counter('lab_refused'); // by 429
const silent = new Counter('lab_refused_without_retry_after');
const failed = new Counter('lab_failed'); // neither: they may have reached the supplier
const over = new Gauge('lab_over'); // calls above the limit in the worst window, as the supplier's log says
const time = new Trend('lab_time', true); // of a call that was made: compare with ALGORITHM=r0

export const options = {
  scenarios: {
    calls: { executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, preAllocatedVUs: 50, maxVUs: 500 },
  },
  thresholds: {
    lab_over: ['value==0'],
    lab_allowed: ['count>0'], // otherwise the run shows nothing
    lab_refused_without_retry_after: ['count==0'],
    lab_failed: ['count==0'],
  },
  summaryTrendStats: ['min', 'med', 'p(99)', 'max'],
};

const log = `${base}/supplier/${algorithm}/${operation}`;
const headers = token ? { Authorization: `Bearer ${token}` } : {};

export function setup() {
  const response = http.del(log, null, { headers });
  if (response.status !== 204) fail(`the supplier's log was not deleted: ${response.status}: ${String(response.body).slice(0, 200)}`);
}

export default function () {
  const response = http.post(`${base}/${algorithm}/supplier/call?operation=${operation}`, null, {
    responseCallback: http.expectedStatuses(200, 429),
  });
  if (response.status === 200) {
    allowed.add(1);
    time.add(response.timings.duration);
  } else if (response.status === 429) {
    refused.add(1);
    silent.add(response.headers['Retry-After'] ? 0 : 1);
  } else {
    failed.add(1);
  }
}

export function teardown() {
  const response = http.get(log);
  if (response.status !== 200) fail(`the supplier's log was not read: ${response.status}`);
  const seen = response.json();
  over.add(seen.over);
  console.log(`${algorithm}: the supplier allows ${seen.limit} calls in ${seen.window_ms} ms. It has seen ${seen.calls} calls, at most ` +
    `${seen.most_in_one_window} in one window: ${seen.over} over the limit.`);
}
