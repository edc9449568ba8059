/* width_begin.h - for templates of one width W: F(name) is a name of their own,
 * KEY the type of their keys. width_end.h takes both back. */
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, W)
#define KEY NAME2(sx_key, W)
#define SX_WALK static inline __attribute__((unused))
