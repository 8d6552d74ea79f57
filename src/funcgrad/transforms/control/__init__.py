"""Operations whose params hold closed subgraphs: calls, branches, loops, and rules of one's own."""
