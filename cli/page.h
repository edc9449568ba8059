/* page.h - the manual page of the tool. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

/* Runs man(1) in place of this process, at the part about a verb. Returns if that
 * can't be. */
void page_open(const char *verb);

#endif
