/** What the charts use of D3, for the type checker only; d3.js beside this file is what pages load. */

export interface Scale {
  (value: number): number;
  domain(): number[];
  domain(ends: number[]): Scale;
  range(): number[];
  range(ends: number[]): Scale;
  nice(count?: number): Scale;
  ticks(count?: number): number[];
}

export interface Axis {
  (selection: Selection): void;
  tickValues(values: number[]): Axis;
  tickFormat(format: (value: number) => string): Axis;
  tickSize(size: number): Axis;
  tickPadding(padding: number): Axis;
}

export interface Selection {
  append(name: string): Selection;
  attr(name: string, value: string | number | null): Selection;
  text(value: string): Selection;
  call(what: (selection: Selection) => void): Selection;
  node(): SVGElement | null;
  select(selector: string): Selection;
  selectAll(selector: string): Selection;
  remove(): Selection;
}

interface Path<Datum> {
  (data: Datum[]): string | null;
  x(value: (datum: Datum) => number): Path<Datum>;
  y(value: (datum: Datum) => number): Path<Datum>;
  y0(value: (datum: Datum) => number): Path<Datum>;
  y1(value: (datum: Datum) => number): Path<Datum>;
  defined(value: (datum: Datum) => boolean): Path<Datum>;
}

interface Kind {}

export function select(element: Element): Selection;
export function scaleLinear(): Scale;
export function axisBottom(scale: Scale): Axis;
export function axisLeft(scale: Scale): Axis;
export function line<Datum>(): Path<Datum>;
export function area<Datum>(): Path<Datum>;
export function symbol(kind: Kind, size: number): () => string;
export const symbolCircle: Kind;
export const symbolSquare: Kind;
export const symbolTriangle: Kind;
