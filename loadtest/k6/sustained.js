// sustained.js: page views at a constant rate, so that a server can be killed in the middle. pview.js runs it when RATE is set.
//
// A view that is refused or has no answer is no failure here: it is what a failover looks like. It may have counted.
import { Counter, Trend } from 'k6/metrics';
import { text, whole } from './env.js';
import * as lab from './lab.js';

const MOST_RATE = 1000; // views per second, as on the live page
const MOST_SECONDS = 600;

const sent = new Counter('lab_sent');
const confirmed = new Trend('lab_confirmed', true); // from the start to the answer, by second
// Thresholds cannot compare two metrics. So these two count the difference.
const lost = new Counter('lab_lost'); // confirmed views, minus the counter at the end
const surplus = new Counter('lab_surplus'); // the counter at the end, minus the views that were sent

export const rate = text('RATE', '') === '' ? undefined : whole('RATE', '', MOST_RATE);

const duration = text('DURATION', '30s');
const seconds = secondsOf(duration);

function secondsOf(duration) {
  const units = { h: 3600, m: 60, s: 1, ms: 0.001 };
  const parts = /^(\d+(\.\d+)?(ms|h|m|s))+$/.test(duration) ? duration.match(/[\d.]+(ms|h|m|s)/g) : [];
  const sum = parts.reduce((all, part) => all + parseFloat(part) * units[part.replace(/[\d.]+/, '')], 0);
  if (rate && (sum < 1 || sum > MOST_SECONDS)) throw new Error(`DURATION is "${duration}"; it must be from 1s to ${MOST_SECONDS / 60}m, as 30s or 1m30s`);
  return sum;
}

// users is how many views can wait for an answer at the same moment. No request lasts longer than 60 s.
const users = Math.min(lab.settings.users, 60 * rate);

export function options() {
  const sustained = {
    executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, preAllocatedVUs: users, maxVUs: users, gracefulStop: '65s',
  };
  const thresholds = { lab_answered: ['count>0'] }; // otherwise the run shows nothing
  if (lab.safe) Object.assign(thresholds, { lab_lost: ['count<=0'], lab_surplus: ['count<=0'] });
  for (let second = 0; second <= seconds; second++) thresholds[`lab_confirmed{second:${second}}`] = ['max>=0'];
  return lab.optionsOf('sustained', { sustained }, thresholds);
}

export function view(begun, path) {
  sent.add(1);
  surplus.add(-1);
  const answer = lab.shoot(begun, path, 200);
  if (!answer) return;
  lost.add(1);
  confirmed.add(answer.after, { second: String(Math.min(Math.floor(answer.after / 1000), Math.floor(seconds))) });
}

export function ended(final) {
  lost.add(-final);
  surplus.add(final);
}

export function report(get) {
  const count = tally(get);
  const { refused, silent, unsent, more } = count;
  return lab.layout(`Page views at ${rate} per second for ${duration}`, [
    ['sent', count.sent],
    ['confirmed', count.confirmed],
    ...lab.unusable(get, silent),
    ...(unsent > 0 ? [['not sent', `${unsent}, because no user was free (USERS=${users})`]] : []),
    ['final value', count.final === undefined ? '-' : count.final],
    ['lost', count.lost],
    ...(more > 0 ? [['counted without confirmation', more]] : []),
    ['longest time without a view', longestGap(get)],
    ...lab.perInstance(get, 'confirmed'),
    lab.times(get),
  ], outcome(count, refused + silent));
}

function tally(get) {
  const number = (name) => get(name, 'count') || 0;
  const count = { sent: number('lab_sent'), confirmed: number('lab_answered'), unsent: number('dropped_iterations'), lost: '-' };
  count.refused = lab.refusals(get).number;
  count.silent = count.sent - count.confirmed - count.refused;
  if (number('lab_read') > 0) {
    count.final = get('lab_final', 'value');
    count.lost = Math.max(0, count.confirmed - count.final);
    count.more = Math.max(0, count.final - count.confirmed);
  }
  return count;
}

// longestGap finds the longest time without a confirmed view. A time within one second is not seen, and is shorter.
function longestGap(get) {
  let gap = { from: 0, to: 0 };
  let last = 0;
  const upTo = (to) => {
    if (to - last > gap.to - gap.from) gap = { from: last, to };
  };
  for (let second = 0; second <= seconds; second++) {
    const newest = get(`lab_confirmed{second:${second}}`, 'max');
    if (!newest) continue; // k6 shows 0 for no view
    upTo(get(`lab_confirmed{second:${second}}`, 'min'));
    last = newest;
  }
  upTo(get('lab_late', 'max') || 0); // the last view was sent
  const s = (ms) => (ms / 1000).toFixed(1);
  if (gap.to - gap.from < 1000) return 'less than 1 s';
  return `${s(gap.to - gap.from)} s, from second ${s(gap.from)} to ${s(gap.to)}`;
}

function outcome(count, unconfirmed) {
  const { sent: all, confirmed: views, final, lost: missing, more } = count;
  if (all === 0) return 'Outcome: inconclusive: nothing was sent';
  if (final === undefined) return 'Outcome: inconclusive: the counter was not read at the end';
  if (views === 0) return `Outcome: inconclusive: none of ${all} views was confirmed`;
  const shows = `the counter shows ${final} after ${views} confirmed views`;
  const why = unconfirmed > 0 ? '. A master that dies takes with it what its replicas do not have yet' : '';
  if (missing > 0 && lab.safe) return `Outcome: LOST ${missing}: ${shows}${why}`;
  if (missing > 0) return `Outcome: lost ${missing} of ${views}, as predicted without a common lock`;
  if (final > all) return `Outcome: inconclusive: the counter shows ${final - all} more than the ${all} views that were sent: did somebody else count?`;
  if (!lab.safe) return 'Outcome: nothing lost this time: run it again, with a higher RATE';
  return `Outcome: nothing lost: ${shows}${more > 0 ? `; ${more} of the ${unconfirmed} others counted as well` : ''}`;
}
