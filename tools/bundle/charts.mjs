// The chart script of evenhand's HTML report: draws every Vega-Lite specification found in the page.
//
// The page's Content-Security-Policy forbids eval, so expressions run in vega-interpreter on their syntax trees
// (`ast: true`). Nothing is ever loaded: the loader refuses, and so does the policy.

import {Warn, View, parse} from 'vega';
import {expressionInterpreter} from 'vega-interpreter';
import {compile} from 'vega-lite';

const refuse = () => Promise.reject(new Error('the report loads nothing'));
const loader = {load: refuse, sanitize: refuse, http: refuse, file: refuse};

const rowsOf = (columns) => {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({length}, (_, i) => Object.fromEntries(names.map((n) => [n, columns[n][i]])));
};

const silent = {level: () => silent, error: () => silent, warn: () => silent, info: () => silent, debug: () => silent};

// Who cannot see a chart hears which chart the marks are of.
function name(marks = [], title) {
  for (const mark of marks) {
    if (mark.type !== 'group') mark.description = title;
    name(mark.marks, title);
  }
}

async function draw(figure, chart) {
  const holder = figure.querySelector('[data-draw]');
  const width = holder.parentElement.clientWidth;
  const {config, height} = chart.spec;
  const narrow = width < 560;
  const named = Boolean(height && height.step); // a row for each name: the names take much of a narrow screen
  const axis = narrow ? {...config.axis, labelFontSize: 11} : config.axis;
  const axisY = {...config.axisY, labelLimit: Math.min(config.axisY.labelLimit, 0.46 * width)};
  const columns = narrow ? (named ? 1 : 2) : config.legend.columns;
  const fitted = {...config, axis, axisY, legend: {...config.legend, columns}};
  const spec = {...chart.spec, config: fitted, data: {values: rowsOf(chart.columns)}};
  const {spec: vega} = compile(spec, {logger: silent});
  name(vega.marks, chart.description);
  const runtime = parse(vega, null, {ast: true});
  const view = new View(runtime, {
    container: holder,
    expr: expressionInterpreter,
    hover: true,
    loader,
    logLevel: Warn,
    renderer: 'svg',
  });
  view.description(chart.description);
  await view.runAsync();
  figure.dataset.drawn = 'yes';
  return view;
}

async function main() {
  const source = document.getElementById('evenhand-charts');
  if (!source) return;
  const charts = JSON.parse(source.textContent);
  for (const chart of charts) {
    const figure = document.getElementById(chart.id);
    if (!figure) continue;
    try {
      await draw(figure, chart);
    } catch (error) {
      figure.dataset.drawn = 'no';
      figure.querySelector('[data-draw]').textContent =
        `This chart could not be drawn (${error.message}); its data are in the table.`;
    }
  }
  document.documentElement.dataset.charts = 'done';
}

// On paper nothing can be unfolded: print every finding.
window.addEventListener('beforeprint', () => {
  for (const fold of document.querySelectorAll('details.more')) fold.open = true;
});

main();
