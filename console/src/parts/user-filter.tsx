import { useEffect, useState } from 'preact/hooks';
import { replaceQuery } from '../route.js';

/** The user whose rows a view shows, as its address has it: empty for all. */
export function useUserFilter(query: URLSearchParams): [user: string, setUser: (user: string) => void] {
  const [user, setUser] = useState(query.get('user') ?? '');
  useEffect(() => replaceQuery({ user }), [user]);
  return [user, setUser];
}

export function UserFilter({ user, onChange }: { user: string; onChange: (user: string) => void }) {
  return (
    <input
      class="narrow"
      type="search"
      aria-label="User"
      placeholder="Only this user"
      value={user}
      onInput={(event) => onChange(event.currentTarget.value.trim())}
    />
  );
}
