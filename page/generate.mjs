// Writes what the page takes from the rest of the repository: src/api/types.ts from
// docs/openapi.json, and src/api/models.ts from the table of GPU models. `node generate.mjs --check`
// writes nothing, and fails where a file is not what would be written.
// CLEAVE_REPOSITORY is the repository's root where this is a copy of its page/.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const here = new URL(".", import.meta.url).pathname;
const root = process.env["CLEAVE_REPOSITORY"] ?? resolve(here, "..");

/** A schema as a type. */
function type_of(schema, indent) {
  if (schema.nullable === true) {
    const { nullable, ...rest } = schema;
    return `${type_of(rest, indent)} | null`;
  }
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1);
  const of = schema.allOf ?? schema.oneOf ?? schema.anyOf;
  if (of !== undefined) {
    // A condition, such as one that forbids two fields together, says nothing of the type.
    const types = [...new Set(of.map((each) => type_of(each, indent)))];
    const said = types.filter((type) => type !== "unknown");
    if (schema.properties !== undefined) said.unshift(fields_of(schema, indent));
    if (schema.allOf === undefined && said.length < types.length) return said[0] ?? "unknown";
    return said.join(schema.allOf === undefined ? " | " : " & ") || "unknown";
  }
  if (schema.enum !== undefined)
    return schema.enum.filter((word) => word !== null).map((word) => JSON.stringify(word)).join(" | ");
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
      return schema.type;
    case "array": {
      const item = type_of(schema.items ?? {}, indent);
      return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return schema.properties === undefined ? "Record<string, unknown>" : fields_of(schema, indent);
    default:
      return "unknown";
  }
}

function fields_of(schema, indent) {
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const rows = Object.entries(schema.properties).map(([name, field]) => {
    const told = field.description === undefined ? "" : `${inner}/** ${field.description} */\n`;
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${told}${inner}${key}${required.has(name) ? "" : "?"}: ${type_of(field, inner)};\n`;
  });
  return `{\n${rows.join("")}${indent}}`;
}

function types() {
  const { schemas } = JSON.parse(readFileSync(`${root}/docs/openapi.json`, "utf8")).components;
  const all = Object.entries(schemas).map(([name, schema]) => {
    const told = schema.description === undefined ? "" : `/** ${schema.description} */\n`;
    return `${told}export type ${name} = ${type_of(schema, "")};\n`;
  });
  return `// Written by page/generate.mjs from docs/openapi.json.\n\n${all.join("\n")}`;
}

const numbers = (text) => text.split(",").map((word) => Number(word.trim()));

/** The rows of the table's C++ source: names, slices, starts. */
function models() {
  const source = readFileSync(`${root}/src/model/gpu_model.cpp`, "utf8");
  const block = (kind, name) =>
    new RegExp(`constexpr ${kind} ${name}\\[\\] =\\s*\\{([\\s\\S]*?)\\};`).exec(source)?.[1] ?? "";
  const rows = [...source.matchAll(
    /\{GpuModelId::(\w+), "([^"]+)", (\w+),[\s\S]*?\{(\d+)\}, \{(\d+)\}, (?:Sms\{\d+\}|\{\}), (?:Sms\{\d+\}|\{\}), \w+,\s*(\w+)\},/g,
  )];
  if (rows.length === 0) throw new Error("gpu_model.cpp has no rows that are understood");
  const drawn = rows.map(([, id, key, drivers, compute, memory, table]) => {
    const names = [...block("std::string_view", drivers).matchAll(/"([^"]+)"/g)].map((each) => each[1]);
    const profiles = [...block("Profile", table).matchAll(
      /\{"([^"]+)",\s*\d+,\s*[\d{}]+,\s*\{(\d+)\},\s*\{(\d+)\},\s*(?:MiB\{(\d+)\}|\{\})[\s\S]*?(\d+),\n\s*\{([\d, ]+)\}, \w+, \w+(, Attribute::(?!none)\w+)?/g,
    )].map(([, name, slices, memory_slices, mib, most, starts, special]) => ({
      name, compute: Number(slices), memory: Number(memory_slices),
      usable_mib: mib === undefined ? null : Number(mib), most: Number(most),
      starts: numbers(starts).sort((a, b) => a - b), plain: special === undefined,
    }));
    if (names.length === 0 || profiles.length < 3) throw new Error(`${id} is not understood`);
    return `  ${JSON.stringify({ key, names, compute: Number(compute), memory: Number(memory), profiles })},\n`;
  });
  return `// Written by page/generate.mjs from src/model/gpu_model.cpp.

export interface Profile {
  name: string;
  compute: number;
  memory: number;
  usable_mib: number | null;
  /** Instances of it on one GPU. */
  most: number;
  starts: number[];
  /** Without engines or graphics of its own. */
  plain: boolean;
}

export interface GpuModel {
  key: string;
  /** As drivers call it. */
  names: string[];
  compute: number;
  memory: number;
  profiles: Profile[];
}

export const gpu_models: GpuModel[] = [
${drawn.join("")}];
`;
}

let stale = false;
for (const [file, text] of [["types.ts", types()], ["models.ts", models()]]) {
  const path = `${here}src/api/${file}`;
  if (process.argv[2] !== "--check") writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    console.error(`page/src/api/${file} is stale: run node page/generate.mjs, then tools/page.sh`);
    stale = true;
  }
}
process.exit(stale ? 1 : 0);
