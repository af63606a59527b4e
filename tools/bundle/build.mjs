// Rebuilds src/evenhand/reports/assets/charts.js and the licence texts beside it. Usage: npm install && node build.mjs
import {build} from 'esbuild';
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const assets = process.argv[2] ?? join(here, '..', '..', 'src', 'evenhand', 'reports', 'assets');
const unused = ['vega-crossfilter', 'vega-force', 'vega-hierarchy', 'vega-voronoi', 'vega-wordcloud'];

const result = await build({
  entryPoints: [join(here, 'charts.mjs')],
  bundle: true,
  minify: true,
  metafile: true,
  write: false,
  format: 'iife', // no globals: nothing to clash with
  platform: 'browser',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none', // the full texts are in THIRD_PARTY.txt
  alias: Object.fromEntries(unused.map((name) => [name, join(here, 'nothing.mjs')])),
  define: {Function: 'noFunction'},
  inject: [join(here, 'no-function.mjs')],
});

const code = result.outputFiles[0].text;
// `</script` would end the element that carries the bundle; `<!--` would start a comment in it.
const safe = code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
if (/new Function\(|\beval\(/.test(safe)) throw new Error('the bundle generates code');
writeFileSync(join(assets, 'charts.js'), safe);

const packages = new Set();
for (const [path, {bytesInOutput}] of Object.entries(Object.values(result.metafile.outputs)[0].inputs)) {
  const match = path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (match && bytesInOutput > 0) packages.add(match[1]);
}
const notices = [...packages].sort().map((name) => {
  const root = join(here, 'node_modules', name);
  const {version, license} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const file = readdirSync(root).find((f) => /^licen[cs]e/i.test(f));
  if (!file || !existsSync(join(root, file))) throw new Error(`${name} has no licence text`);
  return {title: `${name} ${version} (${license})`, text: readFileSync(join(root, file), 'utf8').trim()};
});
const byText = new Map();
for (const {title, text} of notices) byText.set(text, [...(byText.get(text) ?? []), title]);
const rule = '-'.repeat(100);
const body = [...byText].map(([text, titles]) => `${rule}\n${titles.join('\n')}\n${rule}\n\n${text}\n`).join('\n');
writeFileSync(
  join(assets, 'THIRD_PARTY.txt'),
  `charts.js is built from these packages by tools/bundle/build.mjs. Their licences:\n\n${body}`,
);
console.log(`${safe.length} bytes from ${packages.size} packages`);
