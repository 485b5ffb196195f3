// Package batch takes a file of runs through a space, a bounded number at a time, and writes a file of results. It can be
// interrupted at any moment and started again: what the result file holds is skipped, what is stored is fetched, what is under
// way is awaited, and the rest is published, so that nothing is published twice. Memory does not grow with the file but for
// 16 bytes a line.
//
// Who owns what: one goroutine reads lines and takes a token for each; senders publish; results come from the carrier's
// goroutine or from the sweeper, which asks for those that do not come by themselves; one goroutine writes, gives the tokens
// back, and alone touches the tally.
package batch
