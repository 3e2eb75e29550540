from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("hello", "frame", "status", "goodbye", "roll")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GOODBYE_FIELD_NUMBER: _ClassVar[int]
    ROLL_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    frame: Frame
    status: Status
    goodbye: Goodbye
    roll: Roll
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ..., status: _Optional[_Union[Status, _Mapping]] = ..., goodbye: _Optional[_Union[Goodbye, _Mapping]] = ..., roll: _Optional[_Union[Roll, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "node", "plan", "random", "incarnation", "knows", "received", "epoch", "restarted", "agreeing", "attempt")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RANDOM_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    KNOWS_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RESTARTED_FIELD_NUMBER: _ClassVar[int]
    AGREEING_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    node: str
    plan: bytes
    random: str
    incarnation: int
    knows: int
    received: int
    epoch: int
    restarted: str
    agreeing: _containers.RepeatedScalarFieldContainer[str]
    attempt: int
    def __init__(self, protocol: _Optional[int] = ..., node: _Optional[str] = ..., plan: _Optional[bytes] = ..., random: _Optional[str] = ..., incarnation: _Optional[int] = ..., knows: _Optional[int] = ..., received: _Optional[int] = ..., epoch: _Optional[int] = ..., restarted: _Optional[str] = ..., agreeing: _Optional[_Iterable[str]] = ..., attempt: _Optional[int] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("number", "received", "run", "epoch", "layer", "step", "round", "shape", "dtype", "checksum", "values", "restarted")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    RESTARTED_FIELD_NUMBER: _ClassVar[int]
    number: int
    received: int
    run: int
    epoch: int
    layer: int
    step: int
    round: int
    shape: _containers.RepeatedScalarFieldContainer[int]
    dtype: str
    checksum: int
    values: bytes
    restarted: str
    def __init__(self, number: _Optional[int] = ..., received: _Optional[int] = ..., run: _Optional[int] = ..., epoch: _Optional[int] = ..., layer: _Optional[int] = ..., step: _Optional[int] = ..., round: _Optional[int] = ..., shape: _Optional[_Iterable[int]] = ..., dtype: _Optional[str] = ..., checksum: _Optional[int] = ..., values: _Optional[bytes] = ..., restarted: _Optional[str] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("received", "layer", "step", "waiting_for", "agreeing")
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    AGREEING_FIELD_NUMBER: _ClassVar[int]
    received: int
    layer: int
    step: int
    waiting_for: _containers.RepeatedScalarFieldContainer[str]
    agreeing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, received: _Optional[int] = ..., layer: _Optional[int] = ..., step: _Optional[int] = ..., waiting_for: _Optional[_Iterable[str]] = ..., agreeing: _Optional[_Iterable[str]] = ...) -> None: ...

class Roll(_message.Message):
    __slots__ = ("entries",)
    class Entry(_message.Message):
        __slots__ = ("node", "version", "links", "floor", "epoch", "group", "done")
        NODE_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        LINKS_FIELD_NUMBER: _ClassVar[int]
        FLOOR_FIELD_NUMBER: _ClassVar[int]
        EPOCH_FIELD_NUMBER: _ClassVar[int]
        GROUP_FIELD_NUMBER: _ClassVar[int]
        DONE_FIELD_NUMBER: _ClassVar[int]
        node: int
        version: int
        links: _containers.RepeatedScalarFieldContainer[int]
        floor: int
        epoch: int
        group: int
        done: bool
        def __init__(self, node: _Optional[int] = ..., version: _Optional[int] = ..., links: _Optional[_Iterable[int]] = ..., floor: _Optional[int] = ..., epoch: _Optional[int] = ..., group: _Optional[int] = ..., done: bool = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Roll.Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Roll.Entry, _Mapping]]] = ...) -> None: ...

class Goodbye(_message.Message):
    __slots__ = ("reason", "waiting_for")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[Goodbye.Reason]
        FINISHED: _ClassVar[Goodbye.Reason]
        STOPPED: _ClassVar[Goodbye.Reason]
        GAVE_UP: _ClassVar[Goodbye.Reason]
        DATA: _ClassVar[Goodbye.Reason]
        PLAN: _ClassVar[Goodbye.Reason]
        IDENTITY: _ClassVar[Goodbye.Reason]
        DISK: _ClassVar[Goodbye.Reason]
        MEMORY: _ClassVar[Goodbye.Reason]
        NUMBERS: _ClassVar[Goodbye.Reason]
        NETWORK: _ClassVar[Goodbye.Reason]
        FAULT: _ClassVar[Goodbye.Reason]
    UNKNOWN: Goodbye.Reason
    FINISHED: Goodbye.Reason
    STOPPED: Goodbye.Reason
    GAVE_UP: Goodbye.Reason
    DATA: Goodbye.Reason
    PLAN: Goodbye.Reason
    IDENTITY: Goodbye.Reason
    DISK: Goodbye.Reason
    MEMORY: Goodbye.Reason
    NUMBERS: Goodbye.Reason
    NETWORK: Goodbye.Reason
    FAULT: Goodbye.Reason
    REASON_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    reason: Goodbye.Reason
    waiting_for: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, reason: _Optional[_Union[Goodbye.Reason, str]] = ..., waiting_for: _Optional[_Iterable[str]] = ...) -> None: ...
