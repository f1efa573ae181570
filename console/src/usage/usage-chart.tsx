import type { Measure } from './measure.js';
import type { Stack } from './read-stacks.js';

interface Props {
  stacks: Stack[];
  models: string[];
  measure: Measure;
}

const HEIGHT = 180;
const MARKS = 4;

/** Days side by side, the models of a day on each other. The table below says the same in numbers. */
export function UsageChart({ stacks, models, measure }: Props) {
  const totals = stacks.map(({ models: of }) => of.reduce((sum, usage) => sum + measure.of(usage), 0));
  const top = roundUp(Math.max(...totals));
  const step = 100 / stacks.length;
  const labelled = Math.ceil(stacks.length / 8);
  return (
    <figure class="chart" aria-label={`Usage by day and model, by ${measure.name}`}>
      <figcaption>
        <ul class="legend">
          {models.map((model, index) => (
            <li key={model}>
              <span class={`swatch series-${index % SERIES}`} /> {model}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="chart-plot">
        <div class="chart-marks" aria-hidden="true">
          {Array.from({ length: MARKS + 1 }, (_, index) => (
            <span key={index} style={{ bottom: `${(100 * index) / MARKS}%` }}>
              {measure.format((top * index) / MARKS)}
            </span>
          ))}
        </div>
        <svg viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" height={HEIGHT} aria-hidden="true">
          {Array.from({ length: MARKS + 1 }, (_, index) => (
            <line
              key={index}
              class="mark"
              x1="0"
              x2="100"
              y1={(HEIGHT * index) / MARKS}
              y2={(HEIGHT * index) / MARKS}
            />
          ))}
          {stacks.map((stack, place) => {
            let below = 0;
            return (
              <g key={stack.day}>
                <title>{describe(stack, measure)}</title>
                <rect class="hit" x={place * step} width={step} y={0} height={HEIGHT} />
                {models.map((model, index) => {
                  const usage = stack.models.find(({ group }) => group === model);
                  if (usage === undefined || top === 0) return null;
                  const height = (HEIGHT * measure.of(usage)) / top;
                  below += height;
                  return (
                    <rect
                      key={model}
                      class={`series-${index % SERIES}`}
                      x={place * step + step * 0.15}
                      width={step * 0.7}
                      y={HEIGHT - below}
                      height={height}
                    />
                  );
                })}
              </g>
            );
          })}
        </svg>
        <div class="chart-days" aria-hidden="true">
          {stacks.map(({ day }, index) => (
            <span key={day}>{index % labelled === 0 ? day.slice(5) : ''}</span>
          ))}
        </div>
      </div>
    </figure>
  );
}

/** Colours of the chart; more models than that share them. */
const SERIES = 6;

function describe({ day, models }: Stack, measure: Measure): string {
  if (models.length === 0) return `${day}: nothing`;
  return [day, ...models.map((usage) => `${usage.group}: ${measure.format(measure.of(usage))}`)].join('\n');
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value)!;
}
