"""What a code base can make the preprocessor read: itself, and nothing of the machine beside it."""

import pytest
from extract_support import from_acme

from warpsmith.core.errors import InputError
from warpsmith.isolation.confinement import confinement_report
from warpsmith.source.extract import ExtractRequest, extract

SECRET = "int secret_of_mine = 1;\n"


def test_extraction_works_confined():
    assert from_acme("packed_scale_kernel").entry == "acme::packed_scale_kernel"


@pytest.mark.skipif(not confinement_report().is_complete, reason="this system cannot confine")
@pytest.mark.parametrize("line", ["quoted", "spelled by a macro", "hidden", "beside, by a link"])
def test_other_files_are_not_there(tmp_path, line):
    (tmp_path / "base").mkdir()
    (tmp_path / "elsewhere").mkdir()
    secret = tmp_path / "elsewhere" / "notes"
    secret.write_text(SECRET)
    (tmp_path / "base" / ".env").write_text(SECRET)
    (tmp_path / "link.h").symlink_to(secret)
    included = {
        "quoted": f'#include "{secret}"',
        "spelled by a macro": f'#define SECRET "{secret}"\n#include SECRET',
        "hidden": '#include ".env"',
        "beside, by a link": '#include "../link.h"',
    }[line]
    source = tmp_path / "base" / "k.cu"
    source.write_text(f"{included}\n__global__ void k(int* x) {{ x[0] = secret_of_mine; }}\n")
    with pytest.raises(InputError) as error:
        extract(ExtractRequest(source, "k", None, (), {}))
    assert "k.cu:" in str(error.value)
    assert "= 1" not in str(error.value)


def test_headers_beside_the_folder_belong_to_the_code_base(tmp_path):
    (tmp_path / "common").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "common" / "half.h").write_text("#define HALF 0.5f\n")
    (tmp_path / "src" / "k.cu").write_text('#include "../common/half.h"\n__global__ void k(float* x) { x[0] = HALF; }\n')
    found = extract(ExtractRequest(tmp_path / "src" / "k.cu", "k", None, (), {}))
    assert "0.5f" in found.source_text
