/** The largest share whose quantile is at most the value; both lists rise. */
export function share_within(
  quantiles: readonly number[],
  shares: readonly number[],
  value: number,
): number {
  let low = 0, high = quantiles.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((quantiles[middle] ?? Infinity) <= value) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : (shares[low - 1] ?? 0);
}
