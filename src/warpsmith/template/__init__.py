"""Templates: ordinary source with preprocessor constants as parameters, and the certificate that its default is the original."""

from warpsmith.template.certificate import Certificate, first_difference
from warpsmith.template.model import Template, template_of
from warpsmith.template.render import render

__all__ = ["Certificate", "Template", "first_difference", "render", "template_of"]
