import { latencyChart, trafficChart } from './charts.js';
import { byId, drawer, h } from './element.js';
import { span, timeOfDay } from './format.js';
import { showPanels } from './panels.js';
import { findingsOf, summaryOf, worst } from './verdict.js';

const EVERY = 2000;
const PATIENCE = 5000;
const KEPT_AS = 'countersign-operator-token';
const TITLES = { ok: 'All is well', warn: 'Worth a look', bad: 'Needs attention' };
const needsToken = document.documentElement.dataset.token === 'needed';

const charts = { traffic: trafficChart(byId('traffic')), latency: latencyChart(byId('latency')) };
const showFindings = drawer('verdict-list', (findings) =>
  findings.map(({ level, text }) => h('li', { 'data-level': level }, text)),
);
let token = sessionStorage.getItem(KEPT_AS);
let timer;
let lastAnswer;

/** Asks, shows, and asks again; a hidden tab asks nothing. */
async function poll() {
  clearTimeout(timer);
  if (needsToken && token === null) return ask('');
  try {
    const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
    const response = await fetch('/api/status', { headers, signal: AbortSignal.timeout(PATIENCE) });
    if (response.status === 401) return forget('The gateway does not know this token.');
    if (!response.ok) throw new Error(`status ${response.status}`);
    show(await response.json());
  } catch {
    pulse('lost', lastAnswer === undefined ? 'No answer' : `No answer since ${timeOfDay(lastAnswer)}`);
  }
  if (!document.hidden) timer = setTimeout(poll, EVERY);
}

function show(status) {
  lastAnswer = status.at;
  byId('ask').hidden = true;
  byId('board').hidden = false;
  byId('forget').hidden = token === null;
  const findings = findingsOf(status);
  const level = worst(findings);
  byId('verdict').dataset.level = level;
  if (byId('verdict-title').textContent !== TITLES[level]) byId('verdict-title').textContent = TITLES[level];
  showFindings(findings.length > 0 ? findings : [{ level, text: summaryOf(status) }]);
  document.title = `${level === 'ok' ? '' : `${TITLES[level]} · `}Countersign status`;
  byId('facts').textContent =
    `${status.version} · node ${status.node.slice(1)} · up ${span(Date.parse(status.at) - Date.parse(status.startedAt))}`;
  charts.traffic.show(status.traffic.history);
  charts.latency.show(status.traffic.history);
  showPanels(status);
  pulse('live', `Live · ${timeOfDay(status.at)}`);
}

function pulse(state, text) {
  byId('pulse').dataset.state = state;
  byId('pulse').lastElementChild.textContent = text;
  byId('board').dataset.stale = String(state === 'lost');
}

function ask(why) {
  byId('board').hidden = true;
  byId('forget').hidden = true;
  byId('ask').hidden = false;
  byId('wrong').textContent = why;
  pulse('waiting', 'Waiting for the token');
  byId('token').focus();
}

function forget(why) {
  token = null;
  sessionStorage.removeItem(KEPT_AS);
  ask(why);
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  token = byId('token').value.trim();
  byId('token').value = '';
  sessionStorage.setItem(KEPT_AS, token);
  poll();
});
byId('forget').addEventListener('click', () => {
  clearTimeout(timer);
  forget('');
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else poll();
});
poll();
