// env.js: reads the variables of the scripts.

// MOST_USERS is how many simultaneous users the containers of the lab can serve.
export const MOST_USERS = 4000;

// text returns a variable, or otherwise when it is unset or empty.
export function text(name, otherwise) {
  return __ENV[name] === undefined || __ENV[name] === '' ? otherwise : __ENV[name];
}

// whole returns a variable that is a whole number from 1 to most.
export function whole(name, otherwise, most) {
  const n = Number(text(name, otherwise));
  if (!Number.isInteger(n) || n < 1 || n > most) throw new Error(`${name} is "${__ENV[name]}"; it must be a whole number from 1 to ${most}`);
  return n;
}
