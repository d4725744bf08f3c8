import { Chart, roundUp } from './chart.js';
import { s } from './element.js';
import { duration, integer, rate, rateTick } from './format.js';

const SERIES = ['p99', 'p95', 'p50'];

/** Requests per second, stacked by how they ended. */
export function trafficChart(host) {
  return new Chart(host, {
    label: 'Requests per second over five minutes',
    summary: ({ requests, step }) => `Most at once: ${rate(Math.max(...requests) / step)} per second.`,
    tell: ({ requests, clientErrors, serverErrors, step }, i) => [
      `${rate(requests[i] / step)} per second`,
      `${integer(requests[i])} requests, ${integer(clientErrors[i])} 4xx, ${integer(serverErrors[i])} 5xx`,
    ],
    draw({ requests, clientErrors, serverErrors, step }, box) {
      const top = roundUp(Math.max(...requests.map((count) => count / step), 1));
      const y = (value) => box.top + box.height * (1 - value / top);
      const slot = box.width / requests.length;
      const gap = slot > 5 ? 1.5 : 0.5;
      const marks = requests.flatMap((count, i) => {
        let below = 0;
        const parts = [
          ['server', serverErrors[i]],
          ['client', clientErrors[i]],
          ['ok', count - serverErrors[i] - clientErrors[i]],
        ];
        return parts.flatMap(([series, part]) => {
          if (part <= 0) return [];
          const [high, low] = [y((below + part) / step), y(below / step)];
          below += part;
          const x = box.left + i * slot + gap / 2;
          // The smallest error is still a mark one can see.
          const height = Math.max(low - high, series === 'ok' ? 0.5 : 2);
          return [s('rect', { 'data-series': series, x, y: low - height, width: slot - gap, height })];
        });
      });
      return { y, marks, ticks: [0, top / 2, top].map((value) => ({ value, text: rateTick(value) })) };
    },
  });
}

/** Percentiles on a logarithmic scale: a slow tail does not flatten what most requests see. */
export function latencyChart(host) {
  return new Chart(host, {
    label: 'Latency percentiles over five minutes',
    summary({ p50, p99 }) {
      const last = p50.findLastIndex((value) => value !== null);
      return last === -1 ? 'Nothing measured.' : `Latest: p50 ${duration(p50[last])}, p99 ${duration(p99[last])}.`;
    },
    tell: (data, i) =>
      data.p50[i] === null
        ? ['no requests']
        : ['p50', 'p95', 'p99'].map((name) => `${name} ${duration(data[name][i])}`),
    draw(data, box) {
      const measured = SERIES.flatMap((name) => data[name]).filter((value) => value !== null);
      const low = Math.floor(Math.log10(Math.max(0.1, Math.min(...measured, 10))));
      const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(...measured, 10))));
      const y = (value) => box.top + box.height * (1 - (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low));
      const x = (i) => box.left + (box.width * (i + 0.5)) / data.p50.length;
      const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
      const runs = runsOf(data.p50);
      const bands = runs.map((run) => {
        const upper = run.map((i) => `${x(i)},${y(data.p99[i])}`);
        const lower = run.toReversed().map((i) => `${x(i)},${y(data.p50[i])}`);
        return s('polygon', { class: 'band', points: [...upper, ...lower].join(' ') });
      });
      const lines = SERIES.flatMap((name) =>
        runs.map((run) =>
          run.length === 1
            ? s('circle', { 'data-series': name, cx: x(run[0]), cy: y(data[name][run[0]]), r: 2.5 })
            : s('polyline', { 'data-series': name, points: run.map((i) => `${x(i)},${y(data[name][i])}`).join(' ') }),
        ),
      );
      return { y, marks: [...bands, ...lines], ticks: ticks.map((value) => ({ value, text: tickText(value) })) };
    },
  });
}

/** Stretches without a gap, as lists of indexes. */
function runsOf(values) {
  const runs = [];
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    if (i > 0 && values[i - 1] !== null) runs.at(-1).push(i);
    else runs.push([i]);
  }
  return runs;
}

function tickText(ms) {
  if (ms >= 1000) return `${ms / 1000} s`;
  return `${ms < 1 ? ms.toFixed(1) : ms} ms`;
}

/** A small line without axes. */
export function sparkline(values) {
  const [width, height] = [120, 28];
  const top = Math.max(...values, 1);
  const point = (value, i) =>
    `${((i / (values.length - 1)) * width).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`;
  const line = values.map(point).join(' ');
  return s(
    'svg',
    { class: 'spark', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    s('polygon', { points: `0,${height} ${line} ${width},${height}` }),
    s('polyline', { points: line }),
  );
}
