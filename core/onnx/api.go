package onnx

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Opaque objects of ONNX Runtime, in memory of its own.
type (
	cStatus    uintptr // 0: no error
	cEnv       uintptr
	cOptions   uintptr
	cSession   uintptr
	cValue     uintptr
	cTypeInfo  uintptr
	cShape     uintptr // of a cTypeInfo or released by releaseShape
	cMemory    uintptr
	cAllocator uintptr
	cMetadata  uintptr
)

// api is the part of struct OrtApi that is used. The numbers are places in that table, in which functions are only
// ever appended; all of these are there since version 1.17. The comments are the C prototypes, without the errors that
// most return.
type api struct {
	// OrtErrorCode GetErrorCode(const OrtStatus *)
	errorCode func(cStatus) int32
	// const char * GetErrorMessage(const OrtStatus *)
	errorMessage func(cStatus) string
	// void ReleaseStatus(OrtStatus *)
	releaseStatus func(cStatus)
	// CreateEnvWithCustomLogger(OrtLoggingFunction, void * param, OrtLoggingLevel, const char * logid, OrtEnv ** out)
	createEnv func(log, param uintptr, level int32, id string, out *cEnv) cStatus
	// GetAvailableProviders(char *** out, int * length), ReleaseAvailableProviders(char **, int length)
	getProviders     func(out **unsafe.Pointer, n *int32) cStatus
	releaseProviders func(list *unsafe.Pointer, n int32) cStatus

	// CreateSessionOptions(OrtSessionOptions ** out)
	createOptions func(out *cOptions) cStatus
	// void ReleaseSessionOptions(OrtSessionOptions *)
	releaseOptions func(cOptions)
	// SetIntraOpNumThreads, SetInterOpNumThreads(OrtSessionOptions *, int)
	setIntraThreads, setInterThreads func(o cOptions, n int32) cStatus
	// DisableMemPattern(OrtSessionOptions *)
	disableMemPattern func(cOptions) cStatus
	// AddSessionConfigEntry(OrtSessionOptions *, const char * key, const char * value)
	addConfig func(o cOptions, key, value string) cStatus
	// SessionOptionsAppendExecutionProvider(OrtSessionOptions *, const char * name, const char * const * keys,
	// const char * const * values, size_t n)
	appendProvider func(o cOptions, name string, keys, values unsafe.Pointer, n uintptr) cStatus
	// SessionOptionsAppendExecutionProvider_OpenVINO_V2(OrtSessionOptions *, keys, values, size_t n)
	appendOpenVINO func(o cOptions, keys, values unsafe.Pointer, n uintptr) cStatus
	// SessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions *, const OrtMIGraphXProviderOptions *)
	appendMIGraphX func(o cOptions, options unsafe.Pointer) cStatus

	// CreateSession(const OrtEnv *, const ORTCHAR_T * path, const OrtSessionOptions *, OrtSession ** out)
	createSession func(env cEnv, path unsafe.Pointer, o cOptions, out *cSession) cStatus
	// void ReleaseSession(OrtSession *)
	releaseSession func(cSession)
	// SessionGetInputCount, SessionGetOutputCount(const OrtSession *, size_t * out)
	inputCount, outputCount func(s cSession, out *uintptr) cStatus
	// SessionGetInputName, SessionGetOutputName(const OrtSession *, size_t index, OrtAllocator *, char ** out)
	inputName, outputName func(s cSession, i uintptr, a cAllocator, out *unsafe.Pointer) cStatus
	// SessionGetInputTypeInfo, SessionGetOutputTypeInfo(const OrtSession *, size_t index, OrtTypeInfo ** out)
	inputType, outputType func(s cSession, i uintptr, out *cTypeInfo) cStatus
	// SessionGetModelMetadata(const OrtSession *, OrtModelMetadata ** out)
	metadata func(s cSession, out *cMetadata) cStatus
	// ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata *, OrtAllocator *, const char * key, char ** out)
	lookup func(m cMetadata, a cAllocator, key string, out *unsafe.Pointer) cStatus
	// void ReleaseModelMetadata(OrtModelMetadata *)
	releaseMetadata func(cMetadata)

	// CastTypeInfoToTensorInfo(const OrtTypeInfo *, const OrtTensorTypeAndShapeInfo ** out)
	tensorInfo func(t cTypeInfo, out *cShape) cStatus
	// void ReleaseTypeInfo(OrtTypeInfo *)
	releaseTypeInfo func(cTypeInfo)
	// GetTensorElementType(const OrtTensorTypeAndShapeInfo *, ONNXTensorElementDataType * out)
	elementType func(s cShape, out *int32) cStatus
	// GetDimensionsCount(const OrtTensorTypeAndShapeInfo *, size_t * out)
	rank func(s cShape, out *uintptr) cStatus
	// GetDimensions(const OrtTensorTypeAndShapeInfo *, int64_t * dims, size_t n)
	dimensions func(s cShape, dims *int64, n uintptr) cStatus
	// GetTensorTypeAndShape(const OrtValue *, OrtTensorTypeAndShapeInfo ** out)
	shapeOf func(v cValue, out *cShape) cStatus
	// void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *)
	releaseShape func(cShape)

	// CreateCpuMemoryInfo(OrtAllocatorType, OrtMemType, OrtMemoryInfo ** out)
	createMemory func(allocator, kind int32, out *cMemory) cStatus
	// GetAllocatorWithDefaultOptions(OrtAllocator ** out)
	defaultAllocator func(out *cAllocator) cStatus
	// AllocatorFree(OrtAllocator *, void *)
	allocatorFree func(a cAllocator, p unsafe.Pointer) cStatus

	// CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *, void * data, size_t bytes, const int64_t * shape,
	// size_t rank, ONNXTensorElementDataType, OrtValue ** out)
	createTensor uintptr
	// Run(OrtSession *, const OrtRunOptions *, const char * const * input_names, const OrtValue * const * inputs,
	// size_t n, const char * const * output_names, size_t n, OrtValue ** outputs)
	run uintptr
	// void ReleaseValue(OrtValue *)
	releaseValue uintptr

	table *[tableSize]uintptr
}

const (
	apiVersion = 17
	tableSize  = 276
)

// base is struct OrtApiBase.
type base struct {
	getAPI     func(version uint32) *[tableSize]uintptr
	getVersion func() string
}

// functions maps places of the table to fields.
func (a *api) functions() map[int]any {
	return map[int]any{
		1: &a.errorCode, 2: &a.errorMessage, 93: &a.releaseStatus, 4: &a.createEnv, 125: &a.getProviders, 126: &a.releaseProviders,
		10: &a.createOptions, 100: &a.releaseOptions, 24: &a.setIntraThreads, 25: &a.setInterThreads, 17: &a.disableMemPattern,
		130: &a.addConfig, 216: &a.appendProvider, 275: &a.appendOpenVINO, 209: &a.appendMIGraphX,
		7: &a.createSession, 95: &a.releaseSession, 30: &a.inputCount, 31: &a.outputCount, 36: &a.inputName, 37: &a.outputName,
		33: &a.inputType, 34: &a.outputType, 111: &a.metadata, 116: &a.lookup, 118: &a.releaseMetadata,
		55: &a.tensorInfo, 98: &a.releaseTypeInfo, 60: &a.elementType, 61: &a.rank, 62: &a.dimensions, 65: &a.shapeOf, 99: &a.releaseShape,
		69: &a.createMemory, 78: &a.defaultAllocator, 76: &a.allocatorFree,
	}
}

// bind takes the functions out of the table.
func (a *api) bind(table *[tableSize]uintptr) {
	a.table = table
	for i, f := range a.functions() {
		purego.RegisterFunc(f, table[i])
	}
	a.createTensor, a.run, a.releaseValue = table[49], table[9], table[96]
}

// ErrMemory: memory does not suffice.
var ErrMemory = errors.New("out of memory")

// check turns a status into an error, and releases it.
func (a *api) check(s cStatus) error {
	if s == 0 {
		return nil
	}
	defer a.releaseStatus(s)
	return a.failure(s)
}

func (a *api) failure(s cStatus) error {
	text := oneLine(a.errorMessage(s))
	if outOfMemory(text) {
		return fmt.Errorf("%w: %s", ErrMemory, text)
	}
	return errors.New(text)
}

// options of a provider that has functions of its own: create them, append the provider, release them.
type optionFunctions struct{ create, append, release int }

// appendWith appends a provider with its default options, through its own functions.
func (a *api) appendWith(o cOptions, f optionFunctions) error {
	var create func(out *uintptr) cStatus
	var add func(o cOptions, options uintptr) cStatus
	var release func(options uintptr)
	purego.RegisterFunc(&create, a.table[f.create])
	purego.RegisterFunc(&add, a.table[f.append])
	purego.RegisterFunc(&release, a.table[f.release])
	var options uintptr
	if err := a.check(create(&options)); err != nil {
		return err
	}
	defer release(options)
	return a.check(add(o, options))
}
