import { dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A node of the syntax tree (ESTree with types). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** A parameter or private field that is the platform, or parts of it. */
interface Holder {
  readonly place: string;
  /** undefined stands for the whole platform. */
  readonly declared: readonly string[] | undefined;
  readonly needs: Set<string>;
  /** Holders to which it is passed on. */
  readonly passedTo: Set<Holder>;
  /** It is also passed on in a way that the analysis does not follow, such as to a method of an object. */
  isOpen: boolean;
}

interface File {
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  /** Functions and constructors by name. */
  readonly functions: Map<string, Node>;
  /** The origin of a name from another file: imported, or exported again. */
  readonly elsewhere: Map<string, { readonly path: string; readonly name: string }>;
  readonly aliases: Map<string, Node>;
}

const SITE = ['baseUrl', 'config'];
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;
const nodes = (value: unknown): readonly Node[] => (Array.isArray(value) ? value : [value]).filter(isNode);
const nameOf = (value: unknown): string => (isNode(value) ? String(value['name'] ?? value['value'] ?? '') : '');

/** Calls `visit` for a node and, as long as `visit` returns true, for all nodes below it, with their parents. */
function walk(
  node: Node,
  visit: (node: Node, parents: readonly Node[]) => boolean,
  parents: readonly Node[] = [],
): void {
  if (!visit(node, parents)) return;
  const below = [node, ...parents];
  for (const value of Object.values(node)) for (const child of nodes(value)) walk(child, visit, below);
}

function read(path: string, text: string): File {
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node;
  const file: File = { path, text, program, functions: new Map(), elsewhere: new Map(), aliases: new Map() };
  const pathOf = (source: unknown): string => join(dirname(path), nameOf(source));
  walk(program, (node, [parent]) => {
    const { type, id, init, source } = node;
    if (type === 'FunctionDeclaration') file.functions.set(nameOf(id), node);
    if (type === 'VariableDeclarator' && isNode(init) && 'params' in init) file.functions.set(nameOf(id), init);
    if (type === 'ClassDeclaration')
      for (const member of nodes((node['body'] as Node)['body']))
        if (member['kind'] === 'constructor') file.functions.set(nameOf(id), member['value'] as Node);
    if (type === 'TSTypeAliasDeclaration') file.aliases.set(nameOf(id), node['typeAnnotation'] as Node);
    if (type === 'ImportSpecifier' && isNode(parent?.['source']))
      file.elsewhere.set(nameOf(node['local']), { path: pathOf(parent['source']), name: nameOf(node['imported']) });
    if (type === 'ExportNamedDeclaration' && isNode(source))
      for (const each of nodes(node['specifiers']))
        file.elsewhere.set(nameOf(each['exported']), { path: pathOf(source), name: nameOf(each['local']) });
    return true;
  });
  return file;
}

/** Returns the parts in a type, 'all' for the platform, and undefined for any other type. */
function partsOf(file: File, type: Node | undefined): readonly string[] | 'all' | undefined {
  if (type?.type === 'TSTypeAnnotation') return partsOf(file, type['typeAnnotation'] as Node);
  if (type?.type !== 'TSTypeReference') return undefined;
  const name = nameOf(type['typeName']);
  if (name === 'Platform') return 'all';
  if (name === 'Site') return SITE;
  const alias = file.aliases.get(name);
  if (alias) return partsOf(file, alias);
  const [of, keys] = nodes((type['typeArguments'] as Node | null)?.['params']);
  if (name !== 'Pick' || !keys || partsOf(file, of) !== 'all') return undefined;
  return (keys.type === 'TSUnionType' ? nodes(keys['types']) : [keys]).map((key) => nameOf(key['literal']));
}

/**
 * Returns the unnecessary parts of the platform in each function and class: a part that nothing uses, and more than
 * `most` parts instead of the whole platform. The keys of the files are their paths.
 */
export function findSurplus(texts: ReadonlyMap<string, string>, most: number): string[] {
  const files = new Map([...texts].map(([path, text]) => [path, read(path, text)]));
  const holders = new Map<Node, Holder>();

  const holderOf = (file: File, node: Node, type: Node | undefined): Holder | undefined => {
    const known = holders.get(node);
    const parts = partsOf(file, type);
    if (known || !parts) return known;
    const line = file.text.slice(0, node.start).split('\n').length;
    const declared = parts === 'all' ? undefined : parts;
    const isNamed = declared && nameOf(((type?.['typeAnnotation'] ?? type) as Node)['typeName']) !== 'Pick';
    const place = isNamed ? '' : `${file.path}:${line}`;
    const holder: Holder = { place, declared, needs: new Set(), passedTo: new Set(), isOpen: false };
    // All parts in a named type count as needed.
    if (isNamed) for (const part of declared) holder.needs.add(part);
    holders.set(node, holder);
    return holder;
  };
  const parameterOf = (file: File, of: Node, index: number): Holder | undefined => {
    const given = nodes(of['params'])[index];
    const node = given?.type === 'AssignmentPattern' ? (given['left'] as Node) : given;
    return node && holderOf(file, node, node['typeAnnotation'] as Node | undefined);
  };
  const find = (file: File | undefined, name: string): { file: File; of: Node } | undefined => {
    const of = file?.functions.get(name);
    if (file && of) return { file, of };
    const from = file?.elsewhere.get(name);
    return from && find(files.get(from.path), from.name);
  };

  const addPattern = (holder: Holder, pattern: Node): void => {
    for (const property of nodes(pattern['properties']))
      if (property.type === 'Property') holder.needs.add(nameOf(property['key']));
      else holder.isOpen = true;
  };
  /**
   * Returns the holder to which a reference is passed as an argument or a field, or undefined if that cannot be
   * followed.
   */
  const targetOf = (file: File, ref: Node, [parent, ...above]: readonly Node[]): Holder | undefined => {
    if (parent?.type === 'CallExpression' || parent?.type === 'NewExpression') {
      const called = find(file, nameOf(parent['callee']));
      return called && parameterOf(called.file, called.of, nodes(parent['arguments']).indexOf(ref));
    }
    if (parent?.type !== 'AssignmentExpression' || parent['right'] !== ref) return undefined;
    const name = nameOf((parent['left'] as Node)['property']);
    const members = nodes(above.find(({ type }) => type === 'ClassBody')?.['body']);
    const field = members.find(({ type, key }) => type === 'PropertyDefinition' && nameOf(key) === name);
    return field && holderOf(file, field, field['typeAnnotation'] as Node | undefined);
  };
  const addUse = (file: File, holder: Holder, ref: Node, parents: readonly Node[]): void => {
    const [parent] = parents;
    if (parent?.type === 'MemberExpression' && parent['object'] === ref && parent['computed'] === false)
      holder.needs.add(nameOf(parent['property']));
    else if (parent?.type === 'VariableDeclarator' && (parent['id'] as Node).type === 'ObjectPattern')
      addPattern(holder, parent['id'] as Node);
    else {
      const target = targetOf(file, ref, parents);
      if (target) holder.passedTo.add(target);
      else holder.isOpen = true;
    }
  };
  const addParameter = (file: File, of: Node, outer: readonly Node[], index: number): void => {
    const holder = parameterOf(file, of, index);
    if (!holder) return;
    const given = nodes(of['params'])[index] as Node;
    const param = given.type === 'AssignmentPattern' ? (given['left'] as Node) : given;
    if (param.type === 'ObjectPattern') addPattern(holder, param);
    const name = nameOf(param);
    walk(
      of,
      (node, parents) => {
        const [parent] = parents;
        if (node !== of && nodes(node['params']).some((other) => nameOf(other) === name)) return false;
        const isKey =
          (parent?.type === 'MemberExpression' && parent['property'] === node) ||
          (parent?.type === 'Property' && parent['key'] === node && parent['shorthand'] !== true);
        if (node !== param && node.type === 'Identifier' && nameOf(node) === name && !isKey)
          addUse(file, holder, node, parents);
        return true;
      },
      outer,
    );
  };
  const addField = (file: File, body: Node, field: Node): void => {
    const holder = holderOf(file, field, field['typeAnnotation'] as Node | undefined);
    if (!holder) return;
    if ((field['key'] as Node).type !== 'PrivateIdentifier') holder.isOpen = true;
    walk(body, (node, parents) => {
      const [parent] = parents;
      const isField =
        node.type === 'MemberExpression' &&
        (node['object'] as Node).type === 'ThisExpression' &&
        nameOf(node['property']) === nameOf(field['key']);
      const isWritten = parent?.type === 'AssignmentExpression' && parent['left'] === node;
      if (isField && !isWritten) addUse(file, holder, node, parents);
      return true;
    });
  };

  for (const file of files.values())
    walk(file.program, (node, outer) => {
      if (isNode(node['body']))
        for (const index of nodes(node['params']).keys()) addParameter(file, node, outer, index);
      if (node.type === 'ClassBody')
        for (const member of nodes(node['body']))
          if (member.type === 'PropertyDefinition') addField(file, node, member);
      return true;
    });

  for (let again = true; again; ) {
    again = false;
    for (const holder of holders.values())
      for (const { needs, isOpen } of holder.passedTo) {
        const before = holder.needs.size + Number(holder.isOpen);
        for (const part of needs) holder.needs.add(part);
        holder.isOpen ||= isOpen;
        again ||= holder.needs.size + Number(holder.isOpen) > before;
      }
  }
  return [...holders.values()].flatMap(({ place, declared, needs, isOpen }) => {
    if (isOpen || place === '') return [];
    if (!declared) return needs.size > most ? [] : [`${place} needs only ${[...needs].sort().join(', ')}`];
    const surplus = declared.filter((part) => !needs.has(part));
    return surplus.length === 0 ? [] : [`${place} does not need ${surplus.join(', ')}`];
  });
}
