#include "textflag.h"

// Every amd64 processor has SSE2, so nothing has to be asked of the processor.
// Multiplications and additions stay apart, and sums have the order that the
// functions in matrix.go give them: the same bytes come out.

// func dotsBlocks(x, x2, y, y2 *float32, blocks int, sums *[16]float32)
TEXT ·dotsBlocks(SB), NOSPLIT, $0-48
	MOVQ  x+0(FP), SI
	MOVQ  x2+8(FP), DI
	MOVQ  y+16(FP), R8
	MOVQ  y2+24(FP), R9
	MOVQ  blocks+32(FP), CX
	MOVQ  sums+40(FP), DX
	XORPS X0, X0
	XORPS X1, X1
	XORPS X2, X2
	XORPS X3, X3
	XORQ  AX, AX

four:
	MOVUPS (SI)(AX*1), X4
	MOVUPS (DI)(AX*1), X5
	MOVUPS (R8)(AX*1), X6
	MOVUPS (R9)(AX*1), X7
	MOVAPS X4, X8
	MULPS  X6, X8
	ADDPS  X8, X0
	MULPS  X7, X4
	ADDPS  X4, X1
	MULPS  X5, X6
	ADDPS  X6, X2
	MULPS  X5, X7
	ADDPS  X7, X3
	ADDQ   $16, AX
	SUBQ   $1, CX
	JNZ    four
	MOVUPS X0, (DX)
	MOVUPS X1, 16(DX)
	MOVUPS X2, 32(DX)
	MOVUPS X3, 48(DX)
	RET

// func addBlocks(to, v *float32, blocks int, by float32)
TEXT ·addBlocks(SB), NOSPLIT, $0-28
	MOVQ   to+0(FP), DI
	MOVQ   v+8(FP), SI
	MOVQ   blocks+16(FP), CX
	MOVSS  by+24(FP), X0
	SHUFPS $0, X0, X0

next:
	MOVUPS (SI), X1
	MOVUPS (DI), X2
	MULPS  X0, X1
	ADDPS  X1, X2
	MOVUPS X2, (DI)
	ADDQ   $16, SI
	ADDQ   $16, DI
	SUBQ   $1, CX
	JNZ    next
	RET
