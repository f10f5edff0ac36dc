// shop.js: a flash sale. 1000 buyers want 100 pieces simultaneously. Are more sold than there are?
//
//   k6 run loadtest/k6/shop.js
//   k6 run -e VERSION=v0 loadtest/k6/shop.js        one conditional UPDATE
//
// USERS is another number of buyers, and PIECES another stock. The verdict comes from the database.
import exec from 'k6/execution';
import { Counter, Gauge } from 'k6/metrics';
import { whole } from './env.js';
import * as lab from './lab.js';

const told = new Counter('lab_sold_to'); // what buyers were told, by whether they have an order
const sold = new Gauge('lab_sold'); // pieces that were sold according to the database, at the end
const oversold = new Gauge('lab_oversold'); // how many of them were not there
const unaccounted = new Gauge('lab_unaccounted'); // pieces in stock and sold, beyond those that there were
const mixed = new Gauge('lab_versions'); // how many versions sold: more than one is no verdict on one of them

const { users, version } = lab.usersUnlessSet(1000);
const pieces = whole('PIECES', 100, 1000000);
const all = Math.min(pieces, users); // that are sold when nothing goes wrong
const item = '/shop/items/1';

export const options = __VU > 0 ? {} : lab.options('shop', (always) => {
  const thresholds = { 'lab_sold_to{sold:true}': always };
  if (lab.safe) {
    thresholds['lab_sold_to{sold:true}'] = [`count==${all}`];
    thresholds.lab_sold = [`value==${all}`];
    thresholds.lab_oversold = ['value==0'];
    thresholds.lab_unaccounted = ['value==0'];
  }
  return thresholds;
});

export function setup() {
  lab.call('PUT', item, `{"stock": ${pieces}}`, 'nothing is on sale', 200);
  return lab.begun('shop');
}

export default function (begun) {
  const answer = lab.shoot(begun, `/${version}${item}/buy?buyer=${exec.vu.idInTest}`, 201, 409);
  if (answer) told.add(1, { sold: String(answer.sold) });
}

export function teardown() {
  const end = lab.call('GET', item, null, 'the item is not read', 200);
  oversold.add(end.oversold);
  unaccounted.add(end.unaccounted);
  mixed.add(end.versions.length);
  lab.ended(sold, end.sold);
}

export function handleSummary(data) {
  const get = lab.reader(data);
  const count = { told: get('lab_sold_to{sold:true}', 'count') || 0 };
  if (get('lab_read', 'count')) {
    for (const name of ['sold', 'oversold', 'unaccounted', 'versions']) count[name] = get(`lab_${name}`, 'value');
  }
  const text = lab.report(`${users} buyers want ${pieces} pieces simultaneously`, [
    ['sold', count.sold === undefined ? '-' : count.sold],
    ['oversold', count.sold === undefined ? '-' : count.oversold],
    ['in stock and sold, beyond all', count.sold === undefined ? '-' : count.unaccounted],
    ['told so', count.told],
  ], get, outcome(get, count));
  return lab.output(text, get);
}

function outcome(get, count) {
  if (count.versions > 1) return `Outcome: inconclusive: ${count.versions} versions sold this item, and a lock of one excludes none of the other`;
  const invalid = lab.invalid(get)
    || (count.told !== count.sold && `${count.told} buyers were told that they have a piece, and ${count.sold} are in the database`)
    || (count.sold < all && `only ${count.sold} of ${all} pieces were sold`);
  if (count.oversold > 0 && lab.safe) return `Outcome: OVERSOLD ${count.oversold}: ${count.sold} of ${pieces} pieces were sold`;
  if (count.oversold > 0) return `Outcome: oversold ${count.oversold}, as predicted without a common lock${invalid ? `; yet ${invalid}` : ''}`;
  if (count.unaccounted !== 0 && count.unaccounted !== undefined && !invalid) {
    const sentence = `${count.sold} pieces were sold, and the stock is ${count.unaccounted} too large`;
    return lab.safe ? `Outcome: STOCK WRONG: ${sentence}` : `Outcome: ${sentence}, as predicted without a common lock`;
  }
  if (invalid) return `Outcome: inconclusive: ${invalid}`;
  return lab.safe ? 'Outcome: nothing oversold' : 'Outcome: nothing oversold this time: run it again';
}
