/** Money as the API sends it, decimal texts, added exactly: no amount ever becomes a floating-point number. */

interface Decimal {
  readonly digits: bigint;
  /** How many of them stand behind the point. */
  readonly scale: number;
}

const PATTERN = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** What machines of these prices cost in an hour together: the exact sum, with as many decimals as the finest of them. */
export function totalPerHour(prices: readonly string[]): string {
  const parts = prices.map(decimalOf);
  const scale = Math.max(0, ...parts.map((part) => part.scale));
  return written({ digits: parts.reduce((sum, part) => sum + scaled(part, scale), 0n), scale });
}

/** An amount for reading: `$16.14`, rounded half to even; one too small for two decimals says so, as it is not free. */
export function dollars(amount: string): string {
  const { digits, scale } = decimalOf(amount);
  const cents = rounded(digits, scale - 2);
  if (cents === 0n && digits !== 0n) return digits > 0n ? "under $0.01" : "over −$0.01";
  return `${cents < 0n ? "−" : ""}$${grouped(written({ digits: cents < 0n ? -cents : cents, scale: 2 }))}`;
}

/** Whether an amount is nothing at all. */
export function isFree(amount: string): boolean {
  return decimalOf(amount).digits === 0n;
}

function decimalOf(text: string): Decimal {
  const found = PATTERN.exec(text);
  if (!found) throw new Error(`${text} is no amount of money`);
  const [, sign = "", whole = "", part = "", exponent = "0"] = found;
  const digits = BigInt(`${sign === "-" ? "-" : ""}${whole}${part}`);
  const scale = part.length - Number(exponent);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

function scaled({ digits, scale }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - scale);
}

/** The digits without the last `drop` ones, half to even; a negative `drop` adds zeros. */
function rounded(digits: bigint, drop: number): bigint {
  if (drop <= 0) return digits * 10n ** BigInt(-drop);
  const unit = 10n ** BigInt(drop);
  const [size, sign] = digits < 0n ? [-digits, -1n] : [digits, 1n];
  const [whole, rest] = [size / unit, (size % unit) * 2n];
  const up = rest > unit || (rest === unit && whole % 2n === 1n);
  return sign * (up ? whole + 1n : whole);
}

function written({ digits, scale }: Decimal): string {
  const [text, sign] = digits < 0n ? [String(-digits), "-"] : [String(digits), ""];
  if (scale === 0) return sign + text;
  const padded = text.padStart(scale + 1, "0");
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

function grouped(text: string): string {
  return text.replace(/\B(?=(\d{3})+\.)/g, ",");
}
