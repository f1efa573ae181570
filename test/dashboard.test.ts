import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { DASHBOARD, dashboardText } from '../deploy/prometheus/dashboard.js';
import { registry } from '../src/platform/metrics.js';

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number };
  targets: { expr: string; legendFormat: string }[];
}

interface Metric {
  name: string;
  type: string;
  labelNames: string[];
}

describe('the Grafana dashboard', () => {
  const metrics = new Map((registry.getMetricsAsArray() as unknown as Metric[]).map((metric) => [metric.name, metric]));
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };

  it('the Grafana dashboard is made from the table of metrics; if this fails: npm run dashboard', () => {
    expect(readFileSync(DASHBOARD, 'utf8')).to.equal(dashboardText());
  });

  it('the Grafana dashboard asks for metrics that exist, with the series and labels that they have', () => {
    const series: Record<string, RegExp> = {
      counter: /^rate\(\w+\[/,
      histogram: /^rate\(\w+_bucket\[/,
      gauge: /^\w+$/,
    };
    for (const { title, targets } of panels) {
      // The Temporal SDK's own: test/metrics.test.ts looks at those.
      if (title.startsWith('temporal_worker_task_slots_')) continue;
      const metric = metrics.get(title)!;
      expect(metric, title).to.not.equal(undefined);
      for (const { expr, legendFormat } of targets) {
        const [, by = '', inner] = /(?:sum|max)(?: by \((.*?)\))? \((.*?\)|\w+)\)+$/.exec(expr)!;
        expect(inner, expr).to.match(series[metric.type]!).and.contain(title);
        const labels = by.split(', ').filter((label) => label !== '' && label !== 'le');
        expect(metric.labelNames, title).to.include.members(labels);
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(labels, title).to.include(label);
      }
    }
  });

  it('the Grafana dashboard has one panel for each metric, without overlaps', () => {
    const own = [...metrics.keys()].filter((name) => !/^(process|nodejs)_/.test(name));
    expect(panels.map(({ title }) => title)).to.include.members(own);
    for (const field of [panels.map(({ id }) => id), panels.map(({ title }) => title)]) {
      expect(new Set<unknown>(field).size).to.equal(panels.length);
    }
    expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x},${y}`)).size).to.equal(panels.length);
  });
});
