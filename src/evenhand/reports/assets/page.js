// The page's own script: filters of the claims, sorting and search of the estimates, folds on paper. Everything that
// it shows is there without it.
(() => {
  'use strict';
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  const source = byId('evenhand-charts');
  if (source) { // panels of one exhibit share its data
    const charts = JSON.parse(source.textContent);
    const columns = Object.fromEntries(charts.map((c) => [c.id, c.columns]));
    for (const c of charts) c.columns ??= columns[c.as];
    source.textContent = JSON.stringify(charts);
  }

  function reveal(target) {
    for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  }
  function follow() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    reveal(target);
    target.scrollIntoView();
  }

  const form = byId('filters');
  if (form) {
    const claims = all('.claim').map((node) => ({node, text: node.textContent.toLowerCase()}));
    const boxes = all('input[name=v]', form);
    const field = (name) => form.querySelector(`[name=${name}]`);
    form.hidden = false;
    const apply = (remember) => {
      const verdicts = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
      const [a, q, t] = ['a', 'q', 't'].map((n) => field(n).value);
      const words = t.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const {node, text} of claims) {
        const d = node.dataset;
        const on = verdicts.has(d.verdict) && (!a || d.attribute === a) && (!q || d.question === q)
          && words.every((w) => text.includes(w));
        node.hidden = !on;
        shown += on;
      }
      const narrowed = Boolean(a || q || words.length || verdicts.size < boxes.length);
      if (narrowed) all('#claims > details.more').forEach((d) => (d.open = true));
      byId('shown').textContent = narrowed ? `${shown} of ${claims.length} shown` : '';
      if (!remember) return;
      const state = new URLSearchParams();
      if (verdicts.size < boxes.length) state.set('v', [...verdicts].join('|'));
      if (a) state.set('a', a);
      if (q) state.set('q', q);
      if (t) state.set('t', t);
      const hash = String(state);
      history.replaceState(null, '', hash ? `#claims?${hash}` : location.pathname + location.search);
    };
    const restore = () => {
      const [where, hash] = location.hash.slice(1).split('?');
      if (where !== 'claims' || !hash) return;
      const state = new URLSearchParams(hash);
      const kept = state.has('v') ? new Set(state.get('v').split('|')) : null;
      boxes.forEach((b) => (b.checked = !kept || kept.has(b.value)));
      for (const n of ['a', 'q', 't']) field(n).value = state.get(n) || '';
      apply(false);
      byId('claims').scrollIntoView();
    };
    form.addEventListener('input', () => apply(true));
    window.addEventListener('hashchange', restore);
    restore();
  }
  window.addEventListener('hashchange', follow);
  follow();

  const table = document.querySelector('#estimates table');
  if (table) {
    const body = table.tBodies[0];
    const find = byId('find-estimate');
    find.parentElement.hidden = false;
    find.addEventListener('input', () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of body.rows) row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w));
    });
    const number = (text) => parseFloat(text.replace(/−/g, '-').replace(/,/g, ''));
    all('th', table).forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        all('th', table).forEach((h) => h.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const numeric = head.classList.contains('num');
        const keyed = [...body.rows].map((row) => {
          const text = row.cells[column].textContent.trim();
          return {row, key: numeric ? number(text) : text.toLowerCase()};
        });
        const missing = (k) => numeric && Number.isNaN(k);
        keyed.sort((x, y) => (missing(x.key) ? 1 : missing(y.key) ? -1 : (x.key < y.key ? -1 : x.key > y.key ? 1 : 0) * (down ? -1 : 1)));
        body.replaceChildren(...keyed.map((k) => k.row));
      });
    });
  }

  const everything = byId('everything');
  everything.parentElement.hidden = false;
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = everything.checked ? all('details:not([open])') : [];
    opened.forEach((d) => (d.open = true));
  });
  window.addEventListener('afterprint', () => opened.splice(0).forEach((d) => (d.open = false)));
})();
