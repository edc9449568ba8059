/* width_end.h - see width_begin.h. */
#undef SX_WALK
#undef KEY
#undef F
#undef NAME3
#undef NAME3_
#undef NAME2
#undef NAME2_
