// summary.js: what handleSummary is given. k6 has two shapes of it: its own default, and the one of --new-machine-readable-summary. The
// second has a list of metrics, no data of setup, and no p(99).

// metricsOf returns the metrics by their names, in either shape.
export function metricsOf(data) {
  if (!data.results) return data.metrics;
  const { results } = JSON.parse(JSON.stringify(data));
  return Object.fromEntries(results.metrics.map((metric) => [metric.name, metric]));
}

// began is when the run began.
export function began(data) {
  if (!data.results) return new Date(Date.now() - data.state.testRunDurationMs);
  const { config } = JSON.parse(JSON.stringify(data));
  return new Date(Date.now() - 1000 * config.duration);
}
