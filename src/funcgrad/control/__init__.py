"""Operations whose params hold closed programs: call, branch, loop and custom rule."""
