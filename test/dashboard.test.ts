import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { DASHBOARD, dashboardText } from '../deploy/prometheus/dashboard.js';
import { registry } from '../src/platform/metrics.js';

interface Panel {
  id: number;
  type: string;
  panels?: Panel[];
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
  const shown = (JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] }).panels;
  const all = shown.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  const panels = all.filter(({ type }) => type === 'timeseries');

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
    for (const field of [all.map(({ id }) => id), all.map(({ title }) => title)]) {
      expect(new Set<unknown>(field).size).to.equal(all.length);
    }
    expect(new Set(all.map(({ gridPos: { x, y } }) => `${x},${y}`)).size).to.equal(all.length);
  });

  it('the Grafana dashboard is read from the top: the alerts, whether it is well, who suffers, which part, and the rest folded', () => {
    expect(shown[0]).to.include({ type: 'alertlist' });
    const rows = shown.filter(({ type }) => type === 'row');
    expect(rows.map(({ title }) => title)).to.deep.equal([
      'Is it well?',
      'Who suffers?',
      'Which part?',
      'Everything else',
    ]);
    const places = shown.map(({ gridPos: { y } }) => y);
    expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
    expect(rows.map(({ panels: folded }) => folded!.length > 0)).to.deep.equal([false, false, false, true]);
    expect(shown[2]).to.include({ title: 'http_request_duration_seconds' });
  });
});
