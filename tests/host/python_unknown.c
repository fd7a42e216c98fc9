/* SPDX-License-Identifier: MIT
 * What tells a Python whose frames are not read: see tests/host/python.py.
 */
char _PyRuntime[8], PyCode_Type[8];
void _PyEval_EvalFrameDefault(void)
{
}
#ifdef HEX
const unsigned long Py_Version = HEX;
#endif
#ifdef FREE_THREADED
void _Py_MergeZeroLocalRefcount(void)
{
}
#endif
