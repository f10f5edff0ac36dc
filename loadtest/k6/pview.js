// pview.js: 666 users view a page at the same moment. Does the counter show all of them?
//
//   k6 run loadtest/k6/pview.js
//   k6 run -e VERSION=v1 loadtest/k6/pview.js
//   k6 run -e RATE=50 -e DURATION=30s loadtest/k6/pview.js    50 views per second instead of a burst
import { Counter, Gauge } from 'k6/metrics';
import * as lab from './lab.js';
import * as sustained from './sustained.js';

const written = new Counter('lab_written'); // confirmed views, by instance and the value it wrote
const final = new Gauge('lab_final'); // the counter at the end

const { users, version } = lab.settings;
const path = `/${version}/pview`;

// Only k6's first runtime, VU 0, is asked for options; the others need not make them.
export const options = __VU > 0 ? {} : sustained.rate ? sustained.options() : lab.options('pview', (always) => {
  const thresholds = {};
  for (const slot of lab.slots) {
    for (let value = 1; value <= users; value++) thresholds[`lab_written{instance:${slot},value:${value}}`] = always;
  }
  if (lab.safe) thresholds.lab_final = [`value==${users}`];
  return thresholds;
});

export function setup() {
  lab.call('PUT', '/pview', '{"value": 0}', 'the counter is not reset', 200);
  return sustained.rate ? lab.begun('sustained', 0) : lab.begun('pview');
}

export default function (begun) {
  if (sustained.rate) return sustained.view(begun, path);
  const view = lab.shoot(begun, path, 200);
  if (view) written.add(1, { instance: view.slot, value: String(view.value) });
}

export function teardown() {
  const { value } = lab.call('GET', '/pview', null, 'the counter is not read', 200);
  lab.ended(final, value);
  if (sustained.rate) sustained.ended(value);
}

export function handleSummary(data) {
  const get = lab.reader(data);
  if (sustained.rate) return lab.output(sustained.report(get), get);
  const count = tally(get);
  const text = lab.report(`${users} simultaneous page views`, [
    ['final value', count.final === undefined ? '-' : count.final],
    ['lost', count.lost],
    ['written twice', `${count.inside} inside one instance, ${count.across} by both`],
  ], get, outcome(get, count));
  return lab.output(text, get);
}

// tally counts as experiments/pageview.go does.
function tally(get) {
  const count = { final: get('lab_read', 'count') && get('lab_final', 'value'), confirmed: get('lab_answered', 'count') || 0, inside: 0, across: 0 };
  for (let value = 1; value <= users; value++) {
    const each = get.instances.map((name) => get(`lab_written{instance:${name},value:${value}}`, 'count') || 0);
    for (const n of each) count.inside += Math.max(0, n - 1);
    if (each.filter((n) => n > 0).length > 1) count.across++;
  }
  count.lost = count.final === undefined ? '-' : Math.max(0, count.confirmed - count.final);
  return count;
}

function outcome(get, { final, confirmed, lost, inside, across }) {
  const invalid = lab.invalid(get);
  if (final === undefined) return `Outcome: inconclusive: ${invalid}`;
  if (!lab.safe) {
    if (lost > 0) return `Outcome: lost ${lost} of ${users}, as predicted without a common lock${invalid && `; yet ${invalid}`}`;
    return invalid ? `Outcome: inconclusive: ${invalid}` : 'Outcome: nothing lost this time: run it again';
  }
  if (lost > 0) return `Outcome: LOST ${lost}: the counter shows ${final} after ${confirmed} confirmed views`;
  if (invalid) return `Outcome: inconclusive: ${invalid}`;
  if (final > users) return `Outcome: inconclusive: the counter shows ${final - users} more than ${users}: did somebody else count?`;
  if (inside + across > 0) return `Outcome: WRITTEN TWICE: ${inside + across} values, although the counter shows ${final}`;
  return 'Outcome: nothing lost';
}
