package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrChanged says that a watched key was changed before it could be deleted.
var ErrChanged = errors.New("a key was changed by another client just before its deletion")

// Scan hands the keys of all databases to visit, until that returns false.
func Scan(ctx context.Context, do Do, visit func(Key) bool) error {
	info, err := info(ctx, do, "keyspace")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(info)) {
		db, err := strconv.Atoi(strings.TrimPrefix(name, "db"))
		if err != nil {
			continue
		}
		more, err := scanDB(ctx, do, db, visit)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func scanDB(ctx context.Context, do Do, db int, visit func(Key) bool) (more bool, err error) {
	if err := selectDB(ctx, do, db); err != nil {
		return false, err
	}
	cursor := "0"
	for {
		reply, err := do(ctx, "SCAN", cursor, "COUNT", "100")
		if err != nil {
			return false, fmt.Errorf("SCAN of database %d: %w", db, err)
		}
		page, ok := reply.([]any)
		if !ok || len(page) != 2 {
			return false, fmt.Errorf("SCAN: expected a cursor and keys, got %.80v", reply)
		}
		cursor, _ = page[0].(string)
		names, _ := page[1].([]any)
		for _, name := range names {
			if text, ok := name.(string); ok && !visit(Key{db, text}) {
				return false, nil
			}
		}
		if cursor == "0" || cursor == "" {
			return true, nil
		}
	}
}

// Sort tells the keys of the run from all others, of which it returns the first
// few. There is no end to those of a server that is in use.
func Sort(ctx context.Context, do Do, own func(Key) bool) (ours, others []Key, err error) {
	const enough = 50
	err = Scan(ctx, do, func(k Key) bool {
		if own(k) {
			ours = append(ours, k)
		} else {
			others = append(others, k)
		}
		return len(others) < enough
	})
	return ours, others, err
}

// CachedScripts returns how many scripts the server keeps; 0 where it does not say.
func CachedScripts(ctx context.Context, do Do) (int, error) {
	info, err := info(ctx, do, "memory")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(info["number_of_cached_scripts"])
	if err != nil {
		return 0, nil //nolint:nilerr // an old server, or another product
	}
	return n, nil
}

// Remove deletes keys that the run has made. Undisturbed has to say, by MONITOR,
// that nobody else has had a hand in them up to the moment at which it is called;
// what happens later makes the transaction fail with ErrChanged. An error means
// that the keys of that database, and of those behind it, are left as they are.
func Remove(ctx context.Context, do Do, keys []Key, undisturbed func(context.Context) error) error {
	byDB := map[int][]string{}
	for _, k := range keys {
		byDB[k.DB] = append(byDB[k.DB], k.Name)
	}
	for _, db := range slices.Sorted(maps.Keys(byDB)) {
		if err := removeFrom(ctx, do, db, byDB[db], undisturbed); err != nil {
			return err
		}
	}
	return nil
}

func removeFrom(ctx context.Context, do Do, db int, names []string, undisturbed func(context.Context) error) error {
	if err := selectDB(ctx, do, db); err != nil {
		return err
	}
	if _, err := do(ctx, append([]string{"WATCH"}, names...)...); err != nil {
		return fmt.Errorf("WATCH: %w", err)
	}
	if err := undisturbed(ctx); err != nil {
		return errors.Join(err, abandon(ctx, do))
	}
	for _, command := range [][]string{{"MULTI"}, append([]string{"DEL"}, names...)} {
		if _, err := do(ctx, command...); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", command[0], err), abandon(ctx, do))
		}
	}
	reply, err := do(ctx, "EXEC")
	switch {
	case err != nil:
		return fmt.Errorf("EXEC: %w", err)
	case reply == nil:
		return ErrChanged
	}
	return nil
}

func selectDB(ctx context.Context, do Do, db int) error {
	if _, err := do(ctx, "SELECT", strconv.Itoa(db)); err != nil {
		return fmt.Errorf("database %d: %w", db, err)
	}
	return nil
}

// info returns the fields of a section of INFO.
func info(ctx context.Context, do Do, section string) (map[string]string, error) {
	reply, err := do(ctx, "INFO", section)
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("INFO %s: expected text, got %T", section, reply)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	return fields, nil
}

// RemovalHint is the command that removes keys, for people to send.
func RemovalHint(keys []Key) string {
	const most = 5
	byDB := map[int][]string{}
	for _, k := range keys[:min(most, len(keys))] {
		byDB[k.DB] = append(byDB[k.DB], shellQuoted(k.Name))
	}
	var commands []string
	for _, db := range slices.Sorted(maps.Keys(byDB)) {
		slices.Sort(byDB[db])
		commands = append(commands, fmt.Sprintf("redis-cli -n %d DEL %s", db, strings.Join(byDB[db], " ")))
	}
	text := strings.Join(commands, " && ")
	if n := len(keys) - most; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// shellQuoted is a name as a POSIX shell reads it.
func shellQuoted(name string) string {
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
