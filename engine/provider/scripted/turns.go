package scripted

import "container/list"

// key names a conversation under one rule.
type key [32]byte

// turns counts the calls of each conversation and forgets the least recently used. It is not safe for concurrent use.
type turns struct {
	size  int
	order *list.List // of *turn, the newest first
	byKey map[key]*list.Element
}

type turn struct {
	key key
	n   int
}

func newTurns(size int) *turns {
	return &turns{size: size, order: list.New(), byKey: map[key]*list.Element{}}
}

func (t *turns) len() int { return len(t.byKey) }

// next returns how many calls the conversation had before this one.
func (t *turns) next(k key) int {
	if e, ok := t.byKey[k]; ok {
		t.order.MoveToFront(e)
		c := e.Value.(*turn)
		c.n++
		return c.n
	}
	if len(t.byKey) >= t.size {
		oldest := t.order.Back()
		delete(t.byKey, t.order.Remove(oldest).(*turn).key)
	}
	t.byKey[k] = t.order.PushFront(&turn{key: k})
	return 0
}
