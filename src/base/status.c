#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local sx_err last_failure;

sx_status sx_fail(sx_err *err, sx_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    /* Sentences quote what callers gave; control characters would break the line. */
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return status;
}

sx_status sx_report(const sx_err *err, sx_status status)
{
    if (status != SX_OK)
        memcpy(&last_failure, err, sizeof last_failure);
    return status;
}

const char *sx_detail(void)
{
    return last_failure.text;
}

const char *sx_strerror(sx_status status)
{
    switch (status) {
    case SX_OK:       return "success";
    case SX_ENOMEM:   return "out of memory";
    case SX_EINVAL:   return "invalid argument";
    case SX_ENODEV:   return "no such device";
    case SX_ENOSYS:   return "not possible with this device";
    case SX_ESPACE:   return "too little room in an output";
    case SX_EDEVICE:  return "device failure";
    case SX_ECORRUPT: return "damaged file or index";
    case SX_EFORK:    return "not usable after fork";
    case SX_EIO:      return "file error";
    case SX_ETIMEDOUT: return "no answer in time";
    case SX_ECANCELED: return "canceled by the caller's tick";
    }
    return "unknown status";
}

int sx_version(void)
{
    return SX_VERSION;
}
