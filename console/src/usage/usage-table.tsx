import type { UsageGroup } from '../../../client/src/index.js';
import { formatMoney, formatNumber } from '../parts/format.js';

/** Groups of turns with a bar each: of their costs, or of their tokens where one of them has no price. */
export function UsageTable({ groupBy, groups }: { groupBy: string; groups: UsageGroup[] }) {
  const isPriced = groups.every(({ cost }) => cost !== null);
  const sizeOf = ({ cost, input_tokens: input, output_tokens: output }: UsageGroup): number =>
    isPriced ? Number(cost!.amount) : input + output;
  const title = groupBy.startsWith('metadata.')
    ? groupBy.slice('metadata.'.length)
    : groupBy[0]!.toUpperCase() + groupBy.slice(1);
  const largest = Math.max(...groups.map(sizeOf));
  return (
    <div class="table usage" role="region" aria-label="Usage" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col" class="right">
              Cost
            </th>
            <th scope="col">{isPriced ? 'Compared by cost' : 'Compared by tokens'}</th>
            <th scope="col" class="right">
              Turns
            </th>
            <th scope="col" class="right">
              Tokens in
            </th>
            <th scope="col" class="right">
              Tokens out
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map((usage) => (
            <tr key={usage.group}>
              <th scope="row">
                {groupBy === 'session' ? (
                  <a href={`#/sessions/${usage.group}`}>{usage.group}</a>
                ) : (
                  (usage.group ?? `without ${title}`)
                )}
              </th>
              <td class="right">{usage.cost === null ? 'no price' : formatMoney(usage.cost)}</td>
              <td>
                <span class="bar" style={{ width: `${largest === 0 ? 0 : (100 * sizeOf(usage)) / largest}%` }} />
              </td>
              <td class="right">{formatNumber(usage.turns)}</td>
              <td class="right">{formatNumber(usage.input_tokens)}</td>
              <td class="right">{formatNumber(usage.output_tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
