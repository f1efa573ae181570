import { Icon } from '../parts/icon.js';
import { THEMES, type Theme } from './theme.js';

export function ThemeChoice({ theme, onTheme }: { theme: Theme; onTheme: (theme: Theme) => void }) {
  return (
    <div class="themes" role="group" aria-label="Theme">
      {THEMES.map((each) => (
        <button
          key={each}
          class="quiet"
          aria-pressed={theme === each}
          aria-label={`Theme: ${each}`}
          title={`Theme: ${each}`}
          onClick={() => onTheme(each)}
        >
          <Icon name={each} />
        </button>
      ))}
    </div>
  );
}
