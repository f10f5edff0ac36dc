// order.js: drivers want the same order at the same moment. Does exactly one get it?
//
//   k6 run loadtest/k6/order.js                     20 drivers, as in the article
//   k6 run -e VERSION=v1 loadtest/k6/order.js
//
// USERS is another number of drivers.
import exec from 'k6/execution';
import { Counter, Gauge } from 'k6/metrics';
import * as lab from './lab.js';

const grabbed = new Counter('lab_grabbed'); // what drivers were told, by instance and whether they won
const winners = new Gauge('lab_winners'); // the drivers that won according to the data, at the end

const { users, version } = lab.usersUnlessSet(20);

export const options = __VU > 0 ? {} : lab.options('order', (always) => {
  const thresholds = {};
  for (const slot of lab.slots) {
    for (const won of [true, false]) thresholds[`lab_grabbed{instance:${slot},won:${won}}`] = always;
  }
  thresholds['lab_grabbed{won:true}'] = lab.safe ? ['count==1'] : always;
  if (lab.safe) thresholds.lab_winners = ['value==1'];
  return thresholds;
});

export function setup() {
  const order = lab.call('POST', '/orders', null, 'there is no order', 200, 201);
  return Object.assign(lab.begun('order'), { order: order.id });
}

export default function (begun) {
  const path = `/${version}/orders/${begun.order}/grab?driver=${exec.vu.idInTest}`;
  const grab = lab.shoot(begun, path, 200, 409);
  if (grab) grabbed.add(1, { instance: grab.slot, won: String(grab.won) });
}

export function teardown({ order }) {
  lab.ended(winners, lab.call('GET', `/orders/${order}`, null, 'the order is not read', 200).winners.length);
}

export function handleSummary(data) {
  const get = lab.reader(data);
  const recorded = get('lab_read', 'count') && get('lab_winners', 'value');
  const told = get('lab_grabbed{won:true}', 'count') || 0;
  const text = lab.report(`${users} drivers grab one order simultaneously`, [
    ['winners', recorded === undefined ? '-' : recorded],
    ['told so', told],
  ], get, outcome(get, recorded, told));
  return lab.output(text, get);
}

function outcome(get, recorded, told) {
  const invalid = lab.invalid(get) || (recorded === 0 && 'nobody won')
    || (told !== recorded && `${told} drivers were told that they won, and ${recorded} are recorded`);
  if (recorded > 1 && lab.safe) return `Outcome: LOST ${recorded - 1}: ${recorded} drivers won the same order`;
  if (recorded > 1) return `Outcome: lost ${recorded - 1} of ${recorded} wins, as predicted without a common lock${invalid ? `; yet ${invalid}` : ''}`;
  if (invalid) return `Outcome: inconclusive: ${invalid}`;
  return lab.safe ? 'Outcome: nothing lost, one winner' : 'Outcome: nothing lost this time: run it again';
}
