// What the charts of reports use of D3 (https://d3js.org); scripts/vendor.sh makes static/vendor/d3.js of it.
export { axisBottom, axisLeft } from "d3-axis";
export { scaleLinear } from "d3-scale";
export { select } from "d3-selection";
export { area, line, symbol, symbolCircle, symbolSquare, symbolTriangle } from "d3-shape";
