#include "textflag.h"

// Every amd64 processor has SSE2; only dotInt8Wide needs more.

// func dotInt8Blocks(a, b *int8, blocks int) int32
//
// Eight numbers at a time: each is doubled into the high byte of a word and moved
// down with its sign (SSE2 has no instruction that widens), then words are
// multiplied and added in pairs.
TEXT ·dotInt8Blocks(SB), NOSPLIT, $0-28
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ blocks+16(FP), CX
	PXOR X0, X0
	PXOR X1, X1
	SUBQ $2, CX
	JL   last

two:
	MOVQ      (SI), X2
	MOVQ      (DI), X3
	MOVQ      8(SI), X4
	MOVQ      8(DI), X5
	PUNPCKLBW X2, X2
	PUNPCKLBW X3, X3
	PUNPCKLBW X4, X4
	PUNPCKLBW X5, X5
	PSRAW     $8, X2
	PSRAW     $8, X3
	PSRAW     $8, X4
	PSRAW     $8, X5
	PMADDWL   X3, X2
	PMADDWL   X5, X4
	PADDL     X2, X0
	PADDL     X4, X1
	ADDQ      $16, SI
	ADDQ      $16, DI
	SUBQ      $2, CX
	JGE       two

last:
	ADDQ      $2, CX
	JLE       done
	MOVQ      (SI), X2
	MOVQ      (DI), X3
	PUNPCKLBW X2, X2
	PUNPCKLBW X3, X3
	PSRAW     $8, X2
	PSRAW     $8, X3
	PMADDWL   X3, X2
	PADDL     X2, X0

done:
	PADDL  X1, X0
	PSHUFD $0x4E, X0, X1
	PADDL  X1, X0
	PSHUFD $0xB1, X0, X1
	PADDL  X1, X0
	MOVL   X0, ret+24(FP)
	RET

// func dotInt8Wide(a, b *int8, pairs int) int32
//
// Pairs of blocks of sixteen numbers, each widened to words, with AVX2.
TEXT ·dotInt8Wide(SB), NOSPLIT, $0-28
	MOVQ  a+0(FP), SI
	MOVQ  b+8(FP), DI
	MOVQ  pairs+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

pair:
	VPMOVSXBW (SI), Y2
	VPMOVSXBW (DI), Y3
	VPMOVSXBW 16(SI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMADDWD  Y3, Y2, Y2
	VPMADDWD  Y5, Y4, Y4
	VPADDD    Y2, Y0, Y0
	VPADDD    Y4, Y1, Y1
	ADDQ      $32, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       pair

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, AX
	VZEROUPPER
	MOVL         AX, ret+24(FP)
	RET

// func dotBlocks(a, b *float32, blocks int, sums *[4]float32)
//
// Eight numbers at a time, into four sums, in the order of dotBlocks in kernel.go.
TEXT ·dotBlocks(SB), NOSPLIT, $0-32
	MOVQ  a+0(FP), SI
	MOVQ  b+8(FP), DI
	MOVQ  blocks+16(FP), CX
	MOVQ  sums+24(FP), DX
	XORPS X0, X0
	TESTQ CX, CX
	JLE   stored

eight:
	MOVUPS (SI), X1
	MOVUPS (DI), X2
	MOVUPS 16(SI), X3
	MOVUPS 16(DI), X4
	MULPS  X2, X1
	MULPS  X4, X3
	ADDPS  X3, X1
	ADDPS  X1, X0
	ADDQ   $32, SI
	ADDQ   $32, DI
	DECQ   CX
	JNZ    eight

stored:
	MOVUPS X0, (DX)
	RET

// func addBlocks(to, v *float32, blocks int, weight float32)
TEXT ·addBlocks(SB), NOSPLIT, $0-28
	MOVQ   to+0(FP), DI
	MOVQ   v+8(FP), SI
	MOVQ   blocks+16(FP), CX
	MOVSS  weight+24(FP), X0
	SHUFPS $0, X0, X0
	TESTQ  CX, CX
	JLE    added

more:
	MOVUPS (SI), X1
	MOVUPS 16(SI), X2
	MOVUPS (DI), X3
	MOVUPS 16(DI), X4
	MULPS  X0, X1
	MULPS  X0, X2
	ADDPS  X1, X3
	ADDPS  X2, X4
	MOVUPS X3, (DI)
	MOVUPS X4, 16(DI)
	ADDQ   $32, SI
	ADDQ   $32, DI
	DECQ   CX
	JNZ    more

added:
	RET

// func addInt8Blocks(to *float32, v *int8, blocks int, weight float32)
TEXT ·addInt8Blocks(SB), NOSPLIT, $0-28
	MOVQ   to+0(FP), DI
	MOVQ   v+8(FP), SI
	MOVQ   blocks+16(FP), CX
	MOVSS  weight+24(FP), X0
	SHUFPS $0, X0, X0
	TESTQ  CX, CX
	JLE    summed

next:
	MOVQ      (SI), X1
	PUNPCKLBW X1, X1
	PSRAW     $8, X1
	MOVO      X1, X2
	PUNPCKLWL X1, X1
	PUNPCKHWL X2, X2
	PSRAL     $16, X1
	PSRAL     $16, X2
	CVTPL2PS  X1, X1
	CVTPL2PS  X2, X2
	MULPS     X0, X1
	MULPS     X0, X2
	MOVUPS    (DI), X3
	MOVUPS    16(DI), X4
	ADDPS     X1, X3
	ADDPS     X2, X4
	MOVUPS    X3, (DI)
	MOVUPS    X4, 16(DI)
	ADDQ      $8, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       next

summed:
	RET
