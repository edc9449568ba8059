#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#undef SX_WALK
