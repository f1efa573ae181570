import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { isValidSchema, sanitizeInputSchema } from '../../../src/mcp/input-schema.js';
import { heapInUse } from '../../support/heap.js';

const FOLDERS = ['api', 'activities', 'workflows', 'src', 'ops'];
/** The one place that compiles later than at its module's load. */
const COMPILE_ONCE = 'src/platform/compile-once.ts';
const VALIDATORS = /^(Ajv\w*|Validator|AjvJsonSchemaValidator|CfWorkerJsonSchemaValidator)$/;
const COMPILING = new Set(['compile', 'compileAsync', 'addSchema', 'addMetaSchema', 'getValidator', 'compileOnce']);

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
}

function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

function nodesOf(source: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return nodes;
}

/** The sources whose text has one of the words, parsed. */
function sourcesWith(words: RegExp, folders = FOLDERS): [file: string, source: ts.SourceFile][] {
  return folders
    .flatMap(filesOf)
    .map((file): [string, string] => [file, readFileSync(file, 'utf8')])
    .filter(([, text]) => words.test(text))
    .map(([file, text]) => [file, parse(file, text)]);
}

function isInFunction(node: ts.Node): boolean {
  return ts.findAncestor(node, (parent) => ts.isFunctionLike(parent)) !== undefined;
}

function nameOf(expression: ts.Expression): string {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
}

/** What makes a validator or compiles a schema in a function, which may run again and again. */
function lateIn(source: ts.SourceFile): string[] {
  return nodesOf(source).flatMap((node) => {
    const isMade = ts.isNewExpression(node) && VALIDATORS.test(nameOf(node.expression));
    const isCompiled = ts.isCallExpression(node) && COMPILING.has(nameOf(node.expression));
    return (isMade || isCompiled) && isInFunction(node) ? [nameOf((node as ts.CallExpression).expression)] : [];
  });
}

/** Definitions of built-in tools whose input schema is a new object for each call of a function. */
function lateInputSchemas(source: ts.SourceFile): string[] {
  return nodesOf(source).flatMap((node) => {
    const isSchema = ts.isPropertyAssignment(node) && node.name.getText() === 'inputSchema';
    return isSchema && isInFunction(node) && !ts.isIdentifier(node.initializer)
      ? [node.getText(source).slice(0, 60)]
      : [];
  });
}

describe('schemas that are compiled', () => {
  it('schemas that are compiled are those of a module, when it is loaded: a validator keeps each of them for ever', () => {
    const found = sourcesWith(/\b(compile|addSchema|addMetaSchema|getValidator|Ajv|Validator)/).flatMap(
      ([file, source]) => {
        const late = lateIn(source);
        return late.length === 0 ? [] : [[file, ...late]];
      },
    );
    expect(found).to.deep.equal([[COMPILE_ONCE, 'compile']]);
  });

  it('schemas that are compiled when a built-in tool is called are constants', () => {
    const found = sourcesWith(/inputSchema/, ['activities/tools']).flatMap(([file, source]) => {
      const late = lateInputSchemas(source);
      return late.length === 0 ? [] : [[file, ...late]];
    });
    expect(found.sort()).to.deep.equal([
      // Its server checks the input of a call.
      ['activities/tools/mcp/names.ts', 'inputSchema: tool.input_schema'],
      // It is never run: its call is checked in a thread, with a validator of its own.
      ['activities/tools/output/give-output.ts', 'inputSchema: toObjectSchema(outputSchema)'],
    ]);
  });

  it('schemas that are compiled in a function are seen by these tests, and those of a module are not', () => {
    const late = lateIn(
      parse('late.ts', 'const a = () => new Ajv2020().compile({}); function b() { ajv.compile(c); }'),
    );
    expect(late).to.deep.equal(['compile', 'Ajv2020', 'compile']);
    expect(lateIn(parse('load.ts', 'const a = new Ajv().compile({}); const b = compileOnce(a);'))).to.deep.equal([]);
    expect(lateInputSchemas(parse('late.ts', 'const a = () => ({ inputSchema: { type: 1 } });'))).to.have.length(1);
  });

  it('schemas that are compiled are not those of MCP servers: each client of the SDK is made without a validator', () => {
    const clients = sourcesWith(/@modelcontextprotocol\/sdk\/client\/index\.js/).flatMap(([, source]) =>
      nodesOf(source).flatMap((node) =>
        ts.isNewExpression(node) && nameOf(node.expression) === 'Client' ? [node.getText()] : [],
      ),
    );
    expect(clients).to.have.length.of.at.least(1);
    for (const client of clients) expect(client).to.contain('uncompiled');
  });

  it('schemas that are foreign are checked without being kept', () => {
    const check = (from: number, count: number): void => {
      for (let n = from; n < from + count; n += 1) {
        const schema = { type: 'object', properties: { [`p${n}`]: { type: 'string', description: 'x'.repeat(2000) } } };
        expect(isValidSchema(schema)).to.equal(true);
        sanitizeInputSchema({ ...schema, properties: { ...schema.properties, wrong: { type: 'none' } } });
      }
    };
    check(0, 500);
    const before = heapInUse();
    check(500, 3000);
    expect(heapInUse() - before).to.be.below(4 * 1024 * 1024);
  });
});
