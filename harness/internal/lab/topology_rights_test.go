package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// The user and the password of the rules, and the start of a rule's line.
const (
	ruleUser     = "app"
	rulePassword = "secret"
	ruleStart    = "ACL SETUSER " + ruleUser + " "
)

// Rules are the lines of a text, dq/README.md, that say as commands to the server which rights a user
// of the queue "orders" needs: first those for offers and takes, then those that a Worker
// needs besides. The error says that there are not just these two.
func Rules(text string) ([]string, error) {
	var rules []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, ruleStart) {
			rules = append(rules, line)
		}
	}
	if len(rules) != 2 || !strings.Contains(rules[0], " >"+rulePassword+" ") {
		return nil, fmt.Errorf("expected two lines %q with the password %q in the first, found %d", ruleStart+"…", rulePassword, len(rules))
	}
	return rules, nil
}

// grant sends the rules as they are written, for both queues, and has the server keep them.
func (t *Topology) grant(ctx context.Context, s *redis.Server, rules []string) error {
	if len(rules) != 2 {
		return errors.New("a user with the least rights needs the rules of dq/README.md")
	}
	admin := redistest.Client(s)
	defer admin.Close()
	lines := []string{rules[0]}
	for _, rule := range rules {
		lines = append(lines, strings.ReplaceAll(rule, Queue, t.kept))
	}
	for _, line := range append(lines, "ACL SAVE") {
		var args []any
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(t.Version, "6.0.") {
				if word = ofRedis60(word); word == "" {
					continue
				}
			}
			args = append(args, word)
		}
		if err := admin.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// ofRedis60 is what a word of a rule is under Redis 6.0, as dq/README.md says: it knows no rights to channels, and
// no BLMOVE.
func ofRedis60(word string) string {
	switch {
	case strings.HasPrefix(word, "&"):
		return ""
	case word == "+blmove":
		return "+lpop"
	}
	return word
}
