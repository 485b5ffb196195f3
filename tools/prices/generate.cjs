// Writes internal/prices/prices.json from the npm package @pydantic/genai-prices (MIT): `make prices`.
// A model whose price or whose names cannot be carried over exactly is left out: no price is better than a wrong one.
'use strict';
const { findProvider } = require('@pydantic/genai-prices');
const version = require('./package.json').dependencies['@pydantic/genai-prices'];

const today = process.argv[2];
const providers = ['openai', 'anthropic', 'google', 'azure', 'aws', 'mistral', 'groq', 'deepseek', 'x-ai', 'together', 'fireworks', 'openrouter',
  'cerebras', 'cohere', 'perplexity', 'moonshotai', 'novita', 'minimax', 'ovhcloud'];
const rates = { input: 'input_mtok', output: 'output_mtok', cached: 'cache_read_mtok', cache_written: 'cache_write_mtok' };
const left = [];

// match is the rule in a form that Go's patterns can play: a lookahead that forbids becomes {not: {regex}}.
function match(m) {
  for (const word of ['and', 'or']) if (m[word]) return { [word]: m[word].map(match) };
  if (!m.regex) return m;
  const forbids = /^\^\(\?!\.\*(.*)\)$/.exec(m.regex);
  if (forbids) return { not: { regex: forbids[1] } };
  if (/\(\?[=!<]/.test(m.regex)) throw new Error('a pattern that Go does not know');
  return m;
}

// effective is the price of today: the latest that has begun, the dearest of those that depend on the hour.
function effective(prices) {
  if (!Array.isArray(prices)) return prices;
  const begun = prices.filter((p) => !p.constraint || p.constraint.type !== 'start_date' || p.constraint.start_date <= today);
  const dated = begun.filter((p) => p.constraint && p.constraint.type === 'start_date').sort((a, b) => (a.constraint.start_date < b.constraint.start_date ? 1 : -1));
  if (dated.length > 0) return dated[0].prices;
  return begun.map((p) => p.prices).sort((a, b) => base(b.input_mtok) - base(a.input_mtok))[0];
}

const base = (v) => (v && typeof v === 'object' ? v.base : v) || 0;

function price(model) {
  const p = effective(model.prices);
  if (p.input_mtok === undefined || p.output_mtok === undefined) throw new Error('no price for input and output');
  const out = { id: model.id, match: match(model.match) };
  const starts = new Set();
  for (const [name, key] of Object.entries(rates)) {
    if (p[key] === undefined) continue;
    out[name] = base(p[key]);
    if (typeof p[key] === 'object') p[key].tiers.forEach((t) => starts.add(t.start));
  }
  const above = [...starts].sort((a, b) => a - b).map((start) => {
    const tier = { input_tokens: start };
    for (const [name, key] of Object.entries(rates)) {
      if (p[key] === undefined) continue;
      tier[name] = base(p[key]);
      if (typeof p[key] === 'object') p[key].tiers.filter((t) => t.start <= start).forEach((t) => { tier[name] = t.price; });
    }
    return tier;
  });
  if (above.length > 0) out.above = above;
  return out;
}

const lines = providers.map((id) => {
  const p = findProvider({ providerId: id });
  if (!p) throw new Error(`the package has no provider ${id}`);
  const models = [];
  for (const m of p.models) {
    try { models.push(price(m)); } catch (e) { left.push(`${id}/${m.id}: ${e.message}`); }
  }
  const head = JSON.stringify({ id, url: p.api_pattern, also: p.fallback_model_providers }).slice(0, -1);
  return `  ${head}, "models": [\n    ${models.map((m) => JSON.stringify(m)).join(',\n    ')}\n  ]}`;
});
const about = { source: `npm @pydantic/genai-prices ${version}`, licence: 'MIT, Copyright (c) Pydantic Services Inc.', date: today, currency: 'USD', per: 'one million tokens' };
process.stdout.write(`${JSON.stringify(about).slice(0, -1)}, "providers": [\n${lines.join(',\n')}\n]}\n`);
process.stderr.write(`left out: ${left.length}\n${left.map((l) => `  ${l}\n`).join('')}`);
