import { describe, expect, it } from "vitest";
import { JsonError, readJson, writeJson } from "../src/core/json";
import { probablyMeant, readTyped, typeOf } from "../src/core/values";
import { vectors } from "./vectors";

interface Value {
  typed: string;
  type: string;
  json?: string;
}

describe("a typed value", () => {
  it.each(vectors<Value>("values"))("$typed is $type", ({ typed, type, json }) => {
    if (type === "error") {
      expect(() => readTyped(typed)).toThrow(JsonError);
      return;
    }
    const read = readTyped(typed);
    expect([read.type, writeJson(read.value)]).toEqual([type, json]);
  });

  it.each(["7", "7.5", "true", "[1]", "{}", "word"])("%s has the type of its JSON", (typed) => {
    const read = readTyped(typed);
    expect(typeOf(read.value)).toBe(read.type);
  });

  it.each([
    [".5", "0.5"],
    ["-.5", "-0.5"],
    ["5.", "5.0"],
    ["+1", "1"],
    ["1_000", "1000"],
    ["1 000", "1000"],
    ["1,5", "1.5"],
    ["007", "7"],
    ["0x10", "16"],
    ["-0x10", "-16"],
    ["１２", "12"],
    ["True", "true"],
  ])("%s is text and was probably meant as %s", (typed, meant) => {
    expect([readTyped(typed).type, probablyMeant(typed)]).toEqual(["text", meant]);
  });

  it.each(["adam", "1.0.0", "2024-01-01", "50%", "", "12", "1,2,3"])("%s raises no doubt", (typed) => {
    expect(probablyMeant(typed)).toBeNull();
  });

  it("keeps the digits of a number inside a list", () => {
    expect(writeJson(readJson("[12345678901234567890, 3.0]"))).toBe("[12345678901234567890, 3.0]");
  });
});
