// diff tells two texts apart line by line: a longest common subsequence over what is left between equal heads and tails. Texts
// that differ in more than a few thousand lines are shown as one replaced by the other.
export function diff(before, after) {
  const a = before.split("\n"), b = after.split("\n"), out = [];
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  for (const l of a.slice(0, head)) out.push([" ", l]);
  if (x.length * y.length > 4e6) out.push(...x.map((l) => ["-", l]), ...y.map((l) => ["+", l]));
  else out.push(...middle(x, y));
  for (const l of a.slice(a.length - tail, tail ? undefined : a.length)) out.push([" ", l]);
  return out;
}

function middle(x, y) {
  const w = y.length + 1, best = new Uint32Array((x.length + 1) * w), out = [];
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--) best[i * w + j] = x[i] === y[j] ? best[(i + 1) * w + j + 1] + 1 : Math.max(best[(i + 1) * w + j], best[i * w + j + 1]);
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { out.push([" ", x[i++]]); j++; }
    else if (i < x.length && (j >= y.length || best[(i + 1) * w + j] >= best[i * w + j + 1])) out.push(["-", x[i++]]);
    else out.push(["+", y[j++]]);
  }
  return out;
}
