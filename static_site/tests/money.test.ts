import { describe, expect, it } from "vitest";
import { dollars, isFree, totalPerHour } from "../src/core/money";
import { vectors } from "./vectors";

interface Price {
  readonly price: string;
  readonly workers: number;
  readonly total_per_hour: string;
}

const perWorker = ({ price, workers }: Price) => totalPerHour(Array<string>(workers).fill(price));
const trimmed = (amount: string) => (amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount);

describe("a total per hour", () => {
  it.each(vectors<Price>("price"))("$workers × $price is $total_per_hour", (vector) => expect(trimmed(perWorker(vector))).toBe(trimmed(vector.total_per_hour)));

  it.each([
    [["0.1", "0.2"], "0.3"],
    [["2.69", "0.4375", "1"], "4.1275"],
    [["1E-7", "2e+3"], "2000.0000001"],
    [["-0.5", "0.25"], "-0.25"],
    [["1.", "+2"], "3"],
    [[], "0"],
  ])("adds machines of different prices: %j", (prices, sum) => expect(totalPerHour(prices)).toBe(sum));

  it("is of amounts only", () => expect(() => totalPerHour(["12 USD"])).toThrow("12 USD is no amount of money"));
});

describe("an amount on a page", () => {
  it.each([
    ["16.14", "$16.14"],
    ["0", "$0.00"],
    ["1.3125", "$1.31"],
    ["0.125", "$0.12"],
    ["0.135", "$0.14"],
    ["0.136", "$0.14"],
    ["1234567.5", "$1,234,567.50"],
    ["999.999", "$1,000.00"],
    ["-0.01", "−$0.01"],
    ["0.0001", "under $0.01"],
    ["-0.0001", "over −$0.01"],
    ["90071992547409.93", "$90,071,992,547,409.93"],
  ])("%s is written %s", (amount, words) => expect(dollars(amount)).toBe(words));

  it("is free only when it is nothing", () => expect(["0", "0.00", "0E-8", "0.0001"].map(isFree)).toEqual([true, true, true, false]));
});
